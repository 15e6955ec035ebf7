-- Version 1 of a store. `migrate` runs this in one transaction; its user becomes the owner of all objects.
--
-- Members have no right to write to any table. They call the functions at the end, which run as the owner, with a fixed
-- search path, and take the member from the login. Row-level security is a second wall: it is forced, so it also holds
-- for the owner, unless that is a superuser.

create schema sessile;
revoke all on schema sessile from public;

-- The group of all members, shared by all stores of a cluster. A login is a member of this store only by table `member`.
do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'sessile_member') then
    create role sessile_member nologin;
  end if;
exception when duplicate_object or unique_violation then
  null; -- Another store of this cluster was faster.
end $$;
grant usage on schema sessile to sessile_member;

-- One row: the identity and the version of the store.
create table sessile.store (
  only_row boolean primary key default true check (only_row),
  id uuid not null default gen_random_uuid(),
  version integer not null,
  migrated_at timestamptz not null default now()
);
insert into sessile.store (version) values (1);

create table sessile.member (
  name text primary key, -- The login.
  is_admin boolean not null default false,
  joined_at timestamptz not null default now(),
  revoked_at timestamptz
);
-- The first administrator.
insert into sessile.member (name, is_admin) values (session_user, true);

create function sessile.random_no() returns bigint
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  -- 16 random digits of a UUID, without those that say its version and variant; the sign is cut off.
  select ('x' || substr(u.digits, 1, 12) || substr(u.digits, 21, 4))::bit(64)::bigint & 9223372036854775807
    from (select replace(gen_random_uuid()::text, '-', '') as digits) as u
$$;

create table sessile.device (
  no bigint primary key default sessile.random_no(),
  member text not null references sessile.member,
  name text not null check (octet_length(name) between 1 and 200),
  added_at timestamptz not null default now(),
  unique (member, name)
);

create table sessile.project (
  no bigint primary key default sessile.random_no(),
  name text not null unique,
  made_by text not null references sessile.member,
  made_at timestamptz not null default now()
);

-- A log. No index contains what an append changes, so that updates stay on their page.
create table sessile.session (
  no bigint primary key default sessile.random_no(),
  project bigint references sessile.project,
  n bigint not null default 0 check (n >= 0),
  bytes bigint not null default 0 check (bytes >= 0),
  sealed bigint not null default 0, -- How many lines `seal` has looked at.
  made_at timestamptz not null default now(),
  seen_at timestamptz not null default clock_timestamp(),
  epoch integer not null default 0 check (epoch >= 0),
  chain bytea not null default '\x00000000000000000000000000000000' check (octet_length(chain) = 16),
  owner text not null references sessile.member,
  header_id text not null check (octet_length(header_id) between 1 and 200),
  header bytea not null check (octet_length(header) <= 1048576),
  summary bytea check (octet_length(summary) <= 262144),
  unique (owner, header_id)
) with (fillfactor = 70);
create index session_project on sessile.session (project) where project is not null;
-- So that a client that asks for what has changed does not cost what is there.
create index session_seen_at on sessile.session (seen_at);

-- A line of a log. codec: 0 as it is, 1 zstd, 2 elsewhere (data is a hash and a length), 3 sealed.
create table sessile.line (
  session bigint not null,
  seq bigint not null check (seq > 0),
  device bigint,
  codec smallint not null check (codec between 0 and 3),
  author text not null,
  chain bytea not null check (octet_length(chain) = 16),
  data bytea not null,
  primary key (session, seq)
);
-- Clients compress. A second time would only take time.
alter table sessile.line alter column data set storage external;

-- What members may do with sessions of others: by project or by session.
create table sessile.access (
  member text not null references sessile.member,
  project bigint references sessile.project,
  session bigint references sessile.session on delete cascade,
  may text not null check (may in ('read', 'write')),
  granted_by text not null,
  granted_at timestamptz not null default now(),
  check (num_nonnulls(project, session) = 1),
  unique nulls not distinct (member, project, session)
);
create index access_session on sessile.access (session) where session is not null;

create table sessile.tombstone (
  owner text not null references sessile.member,
  header_id text not null,
  epoch integer not null,
  by text not null,
  at timestamptz not null default clock_timestamp(),
  primary key (owner, header_id)
);

create table sessile.audit (
  no bigint primary key default sessile.random_no(),
  at timestamptz not null default clock_timestamp(),
  member text not null,
  device bigint,
  act text not null,
  session bigint,
  header_id text,
  n bigint,
  whom text, -- The member whom the act is about.
  project text, -- The name of a project.
  detail text
);
create index audit_at on sessile.audit (at);

-- Rights and walls.

do $$
declare
  name text;
begin
  foreach name in array array['store', 'member', 'device', 'project', 'session', 'line', 'access', 'tombstone', 'audit'] loop
    execute format('alter table sessile.%I enable row level security', name);
    execute format('alter table sessile.%I force row level security', name);
    if name = 'audit' then
      -- Not even the owner changes or removes what is on record.
      create policy owner_reads on sessile.audit for select to current_user using (true);
      create policy owner_adds on sessile.audit for insert to current_user with check (true);
    else
      execute format('create policy owner on sessile.%I to current_user using (true) with check (true)', name);
    end if;
  end loop;
  execute format('grant connect on database %I to sessile_member', current_database());
end $$;

-- Returns the member that is logged in, or null.
create function sessile.me() returns text
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select m.name from sessile.member as m where m.name = session_user::text and m.revoked_at is null
$$;

create function sessile.is_admin() returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from sessile.member as m where m.name = session_user::text and m.revoked_at is null and m.is_admin
  )
$$;

grant select on sessile.member, sessile.device, sessile.project, sessile.session, sessile.line, sessile.access,
  sessile.tombstone, sessile.audit to sessile_member;
create policy visible on sessile.member for select to sessile_member
  using (name = (select sessile.me()) or (select sessile.is_admin()));
create policy visible on sessile.device for select to sessile_member
  using (member = (select sessile.me()));
create policy visible on sessile.access for select to sessile_member
  using (member = (select sessile.me()));
create policy visible on sessile.project for select to sessile_member
  using (
    made_by = (select sessile.me())
    or (select sessile.is_admin())
    or no in (select a.project from sessile.access as a)
  );
create policy visible on sessile.session for select to sessile_member
  using (
    owner = (select sessile.me())
    or no in (select a.session from sessile.access as a where a.session is not null)
    or project in (select a.project from sessile.access as a where a.project is not null)
  );
create policy visible on sessile.line for select to sessile_member
  using (exists (select from sessile.session as s where s.no = line.session));
create policy visible on sessile.tombstone for select to sessile_member
  using (owner = (select sessile.me()));
create policy visible on sessile.audit for select to sessile_member
  using (member = (select sessile.me()) or (select sessile.is_admin()));

-- What members call. The codes of their errors: SES01 no such session, SES02 not a member, SES03 refused value,
-- SES04 buried, SES05 another epoch, SES06 may not do this, SES07 no such member, SES08 no such project.

create function sessile.version() returns integer
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$ select s.version from sessile.store as s $$;

create function sessile.require_member() returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  _me text := sessile.me();
begin
  if _me is null then
    raise exception 'not a member' using errcode = 'SES02';
  end if;
  return _me;
end $$;

-- Returns what a member may do with a session: 'own', 'write' or 'read'. Fails alike if the session does not exist and
-- if the member does not see it. For the functions below only.
create function sessile.require_session(_me text, _session bigint) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  _may text;
begin
  select case when s.owner = _me then 'own' else max(a.may) end into _may
    from sessile.session as s
    left join sessile.access as a on a.member = _me and (a.session = s.no or a.project = s.project)
    where s.no = _session
    group by s.owner;
  if _may is null then
    raise exception 'no such session' using errcode = 'SES01';
  end if;
  return _may;
end $$;

create function sessile.about()
returns table (store text, version integer, member text, is_admin boolean, now timestamptz)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select s.id::text, s.version, sessile.require_member(), sessile.is_admin(), clock_timestamp() from sessile.store as s
$$;

-- Returns the number of a device of the member, which it gets with its first use.
create function sessile.device(_name text) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  _me text := sessile.require_member();
  _no bigint;
begin
  if octet_length(_name) not between 1 and 200 then
    raise exception 'the name of a device has 1 to 200 bytes' using errcode = 'SES03';
  end if;
  insert into sessile.device (member, name) values (_me, _name) on conflict do nothing;
  select d.no into _no from sessile.device as d where d.member = _me and d.name = _name;
  return _no;
end $$;

-- These two run as the member, under row-level security. They have no search path of their own, so that PostgreSQL can
-- make them a part of the statement and send rows as it finds them. For many sessions, the access is looked up in a hash:
-- with a look-up for each, PostgreSQL expects so much work that it compiles the plan first, for half a second.
create function sessile.heads(_since timestamptz)
returns table (
  no bigint, owner text, header_id text, header bytea, epoch integer, n bigint, chain bytea, bytes bigint,
  summary bytea, seen_at timestamptz, may_append boolean, project text
)
language sql stable
as $$
  select s.no, s.owner, s.header_id, s.header, s.epoch, s.n, s.chain, s.bytes, s.summary, s.seen_at,
    s.owner operator(pg_catalog.=) me.name
      or s.no operator(pg_catalog.=) any (
        select a.session from sessile.access as a
        where a.member operator(pg_catalog.=) (select sessile.me()) and a.may operator(pg_catalog.=) 'write'
          and a.session is not null
      )
      or coalesce(s.project operator(pg_catalog.=) any (
        select a.project from sessile.access as a
        where a.member operator(pg_catalog.=) (select sessile.me()) and a.may operator(pg_catalog.=) 'write'
          and a.project is not null
      ), false),
    p.name
  from sessile.require_member() as me (name)
  cross join sessile.session as s
  left join sessile.project as p on p.no operator(pg_catalog.=) s.project
  where s.seen_at operator(pg_catalog.>=) coalesce(_since, '-infinity')
$$;

create function sessile.head(_owner text, _header_id text)
returns table (
  no bigint, owner text, header_id text, header bytea, epoch integer, n bigint, chain bytea, bytes bigint,
  summary bytea, seen_at timestamptz, may_append boolean, project text
)
language sql stable
as $$
  select s.no, s.owner, s.header_id, s.header, s.epoch, s.n, s.chain, s.bytes, s.summary, s.seen_at,
    s.owner operator(pg_catalog.=) me.name or exists (
      select from sessile.access as a
      where a.member operator(pg_catalog.=) me.name and a.may operator(pg_catalog.=) 'write'
        and (a.session operator(pg_catalog.=) s.no or a.project operator(pg_catalog.=) s.project)
    ),
    p.name
  from sessile.require_member() as me (name)
  cross join sessile.session as s
  left join sessile.project as p on p.no operator(pg_catalog.=) s.project
  where s.owner operator(pg_catalog.=) coalesce(_owner, (select sessile.me()))
    and s.header_id operator(pg_catalog.=) _header_id
$$;

create function sessile.tombstones(_since timestamptz)
returns table (owner text, header_id text, epoch integer, by text, at timestamptz)
language sql stable
as $$
  select t.owner, t.header_id, t.epoch, t.by, t.at
  from sessile.require_member() as me (name), sessile.tombstone as t
  where t.at operator(pg_catalog.>=) coalesce(_since, '-infinity')
$$;

-- Creates the log of a session of the member, unless it is there. The caller then asks for its head.
create function sessile.create_session(_header_id text, _header bytea, _summary bytea, _restore boolean) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  _me text := sessile.require_member();
  _epoch integer := 0;
begin
  if octet_length(_header_id) not between 1 and 200 or octet_length(_header) > 1048576
    or position('\x0a'::bytea in _header) > 0 or octet_length(_summary) > 262144 then
    raise exception 'the id, the header or the summary is too long' using errcode = 'SES03';
  end if;
  if exists (select from sessile.session as s where s.owner = _me and s.header_id = _header_id) then
    return;
  end if;
  perform pg_advisory_xact_lock(hashtextextended(_me || chr(10) || _header_id, 5115));
  select t.epoch + 1 into _epoch from sessile.tombstone as t where t.owner = _me and t.header_id = _header_id;
  if found then
    if not _restore then
      raise exception 'buried' using errcode = 'SES04';
    end if;
    delete from sessile.tombstone as t where t.owner = _me and t.header_id = _header_id;
    insert into sessile.audit (member, act, header_id) values (_me, 'restore', _header_id);
  end if;
  if not _restore then
    -- A log without lines need not wait for the disk: it is there before its first lines are, or it is created again.
    perform set_config('synchronous_commit', 'off', true);
  end if;
  insert into sessile.session (owner, header_id, header, summary, epoch)
    values (_me, _header_id, _header, _summary, coalesce(_epoch, 0))
    on conflict do nothing;
end $$;

-- Appends lines if the log is at this position. Returns the new number of lines, or null if the log is elsewhere.
create function sessile.append(
  _session bigint, _epoch integer, _n bigint, _chain bytea,
  _chains bytea[], _codecs smallint[], _data bytea[], _bytes bigint, _summary bytea, _device bigint
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  _me text := sessile.require_member();
  _count integer := cardinality(_data);
  _n_new bigint;
begin
  if _count is null or _count > 4096 or cardinality(_chains) is distinct from _count
    or cardinality(_codecs) is distinct from _count or _bytes is null or _bytes < _count then
    raise exception 'a batch has up to 4,096 lines, each with a chain, a codec and data' using errcode = 'SES03';
  end if;
  if octet_length(_summary) > 262144 then
    raise exception 'the summary is too long' using errcode = 'SES03';
  end if;
  if exists (
    select from unnest(_chains, _codecs, _data) as l (chain, codec, data)
    where octet_length(l.chain) is distinct from 16 or l.codec is null or l.codec not between 0 and 2
      or l.data is null or octet_length(l.data) > 33554432 or l.codec = 2 and not sessile.is_blob(l.data)
  ) then
    raise exception 'a line has at most 32 MiB, a chain of 16 bytes and a known codec' using errcode = 'SES03';
  end if;
  if (select sum(octet_length(d)) from unnest(_data) as d) > 41943040 then
    raise exception 'a batch has at most 40 MiB' using errcode = 'SES03';
  end if;
  if _device is not null
    and not exists (select from sessile.device as d where d.no = _device and d.member = _me) then
    raise exception 'this is not a device of the member' using errcode = 'SES03';
  end if;
  update sessile.session as s
    set n = s.n + _count, bytes = s.bytes + _bytes, seen_at = clock_timestamp(),
      chain = case when _count > 0 then _chains[_count] else s.chain end, summary = coalesce(_summary, s.summary)
    where s.no = _session and s.n = _n and s.chain = _chain and s.epoch = _epoch
      and (
        s.owner = _me
        or exists (
          select from sessile.access as a
          where a.member = _me and a.may = 'write' and (a.session = s.no or a.project = s.project)
        )
      )
    returning s.n into _n_new;
  if found then
    insert into sessile.line (session, seq, device, codec, author, chain, data)
      select _session, _n + l.at, _device, l.codec, _me, l.chain, l.data
      from unnest(_chains, _codecs, _data) with ordinality as l (chain, codec, data, at);
    perform sessile.use_blobs(_session, _epoch, _codecs, _data);
    return _n_new;
  end if;
  if sessile.require_session(_me, _session) = 'read' then
    raise exception 'the member may only read this session' using errcode = 'SES06';
  end if;
  return null;
end $$;

create function sessile.require_epoch(_session bigint, _epoch integer) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from sessile.session as s where s.no = _session and s.epoch = _epoch) then
    raise exception 'the log was replaced' using errcode = 'SES05';
  end if;
end $$;

-- Returns lines and packs with the lines after the first _from, in order: at most up to _to, 4,096 lines, and _bytes
-- except for a first one that is longer. A pack may begin before and end after the lines that were asked for. n: the
-- number of lines in a pack; 0 for a line.
create function sessile.read_lines(_session bigint, _epoch integer, _from bigint, _to bigint, _bytes bigint)
returns table (seq bigint, author text, device text, codec smallint, data bytea, n integer)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform sessile.require_session(sessile.require_member(), _session);
  perform sessile.require_epoch(_session, _epoch);
  return query
    select l.seq, l.author, d.name, l.codec, l.data, l.n
    from (
      select i.*, sum(octet_length(i.data)) over (order by i.seq) - octet_length(i.data) as before
      from (
        select r.seq, r.author, r.device, r.codec, r.data, 0 as n
        from sessile.line as r
        where r.session = _session and r.seq > _from and r.seq <= least(_to, _from + 4096)
        union all
        select p.seq, p.author, p.device, p.codec, p.data, p.n
        from sessile.pack as p
        where p.session = _session and p.seq > _from - 4096 and p.seq <= least(_to, _from + 4096)
          and p.seq + p.n - 1 > _from
      ) as i
    ) as l
    left join sessile.device as d on d.no = l.device
    where l.before < _bytes
    order by l.seq;
end $$;

-- Returns the chains after these numbers of lines, for those that the log has.
create function sessile.chains(_session bigint, _epoch integer, _at bigint[])
returns table (seq bigint, chain bytea)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform sessile.require_session(sessile.require_member(), _session);
  perform sessile.require_epoch(_session, _epoch);
  if cardinality(_at) > 4096 then
    raise exception 'too many numbers' using errcode = 'SES03';
  end if;
  return query
    select l.seq, l.chain from sessile.line as l where l.session = _session and l.seq = any (_at)
    union all
    select a.at, substring(p.chains from ((a.at - p.seq) * 16 + 1)::integer for 16)
    from unnest(_at) as a (at)
    cross join lateral (
      select i.seq, i.n, i.chains from sessile.pack as i
      where i.session = _session and i.seq <= a.at and i.seq > a.at - 4096
      order by i.seq desc limit 1
    ) as p
    where a.at < p.seq + p.n;
end $$;

-- Empties the log of an own session, if it is at this position, and raises its epoch. The caller appends the new lines in
-- the same transaction. Returns the new epoch, or null if the log is elsewhere.
create function sessile.raise_epoch(
  _session bigint, _epoch integer, _n bigint, _chain bytea, _header bytea, _summary bytea, _reason text, _device bigint
) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  _me text := sessile.require_member();
  _header_id text;
begin
  if sessile.require_session(_me, _session) <> 'own' then
    raise exception 'only its owner replaces a session' using errcode = 'SES06';
  end if;
  if octet_length(_header) > 1048576 or position('\x0a'::bytea in _header) > 0 or octet_length(_summary) > 262144
    or octet_length(_reason) > 400 then
    raise exception 'the header, the summary or the reason is too long' using errcode = 'SES03';
  end if;
  update sessile.session as s
    set epoch = s.epoch + 1, n = 0, bytes = 0, sealed = 0, chain = '\x00000000000000000000000000000000',
      header = coalesce(_header, s.header), summary = _summary, seen_at = clock_timestamp()
    where s.no = _session and s.n = _n and s.chain = _chain and s.epoch = _epoch and s.owner = _me
    returning s.header_id into _header_id;
  if not found then
    return null;
  end if;
  delete from sessile.line as l where l.session = _session;
  delete from sessile.pack as p where p.session = _session;
  delete from sessile.terms as t where t.session = _session;
  insert into sessile.audit (member, device, act, session, header_id, n, detail)
    values (_me, _device, 'replace', _session, _header_id, _n, _reason);
  return _epoch + 1;
end $$;

-- Removes a session of the member and leaves a tombstone. Returns false if there is none.
create function sessile.bury(_header_id text, _device bigint) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  _me text := sessile.require_member();
  _no bigint;
  _epoch integer;
  _n bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended(_me || chr(10) || _header_id, 5115));
  delete from sessile.session as s where s.owner = _me and s.header_id = _header_id
    returning s.no, s.epoch, s.n into _no, _epoch, _n;
  if not found then
    return false;
  end if;
  delete from sessile.line as l where l.session = _no;
  delete from sessile.pack as p where p.session = _no;
  delete from sessile.terms as t where t.session = _no;
  insert into sessile.tombstone (owner, header_id, epoch, by) values (_me, _header_id, _epoch, _me);
  insert into sessile.audit (member, device, act, session, header_id, n)
    values (_me, _device, 'bury', _no, _header_id, _n);
  return true;
end $$;

-- Objects of large lines. They are in a storage of their own; the database knows who uses them.

-- A session's use of an object. It starts as a claim, without an epoch, before a client puts the object. The line that
-- follows gives it its epoch. It is stale when the log has a newer epoch, when the session is gone, and when no line has
-- followed the claim for a long time. Nothing but `release_blob` removes it, so every object is on record.
create table sessile.blob (
  hash bytea not null check (octet_length(hash) = 32),
  session bigint not null,
  epoch integer,
  owner text not null references sessile.member, -- The owner of the session.
  claimed_at timestamptz not null default clock_timestamp(),
  primary key (hash, session)
);
create index blob_owner on sessile.blob (owner);
alter table sessile.blob enable row level security;
alter table sessile.blob force row level security;
create policy owner on sessile.blob to current_user using (true) with check (true);

-- Whether data can be the row of an object: its hash, and the length of its line in eight bytes.
create function sessile.is_blob(_data bytea) returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when octet_length(_data) = 40 then ('x' || encode(substr(_data, 33), 'hex'))::bit(64)::bigint between 1 and 33554432
    else false
  end
$$;

create function sessile.blob_lock(_hash bytea) returns bigint
language sql immutable
set search_path = pg_catalog, pg_temp
as $$ select ('x' || encode(substr(_hash, 1, 8), 'hex'))::bit(64)::bigint $$;

-- Notes that a session is about to use objects. Returns for each whether a line of the same owner uses it already. Waits
-- for a client that deletes one of them.
create function sessile.claim_blobs(_session bigint, _hashes bytea[]) returns table (hash bytea, is_known boolean)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
#variable_conflict use_column
declare
  _me text := sessile.require_member();
  _owner text;
  _epoch integer;
  _hash bytea;
begin
  if sessile.require_session(_me, _session) = 'read' then
    raise exception 'the member may only read this session' using errcode = 'SES06';
  end if;
  if cardinality(_hashes) > 64 or exists (select from unnest(_hashes) as h where octet_length(h) is distinct from 32) then
    raise exception 'up to 64 objects are claimed, by hashes of 32 bytes' using errcode = 'SES03';
  end if;
  for _hash in select distinct h from unnest(_hashes) as h order by h loop
    perform pg_advisory_xact_lock_shared(sessile.blob_lock(_hash));
  end loop;
  select s.owner, s.epoch into _owner, _epoch from sessile.session as s where s.no = _session;
  insert into sessile.blob as b (hash, session, owner)
    select distinct h, _session, _owner from unnest(_hashes) as h order by h
    on conflict (hash, session) do update
      set claimed_at = clock_timestamp(), epoch = case when b.epoch = _epoch then b.epoch end;
  return query
    select distinct h, exists (
      select from sessile.blob as b where b.hash = h and b.owner = _owner and b.epoch is not null
    )
    from unnest(_hashes) as h;
end $$;

-- Turns claims into uses. A part of `append`.
create function sessile.use_blobs(_session bigint, _epoch integer, _codecs smallint[], _data bytea[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  _hashes bytea[] := (
    select array_agg(distinct substr(l.data, 1, 32)) from unnest(_codecs, _data) as l (codec, data) where l.codec = 2
  );
  _n_used bigint;
begin
  if _hashes is null then
    return;
  end if;
  update sessile.blob as b set epoch = _epoch where b.session = _session and b.hash = any (_hashes);
  get diagnostics _n_used = row_count;
  if _n_used <> cardinality(_hashes) then
    raise exception 'the object of a line was not claimed' using errcode = 'SES03';
  end if;
end $$;

-- Whether a use is stale. A client never takes longer than an hour from a claim to its line.
create function sessile.is_stale(_use sessile.blob, _seconds double precision) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when _use.epoch is null then _use.claimed_at < clock_timestamp() - make_interval(secs => greatest(_seconds, 3600))
    -- Not "another epoch": the session may be older in the eyes of this statement than its use.
    else not exists (select from sessile.session as s where s.no = _use.session and s.epoch <= _use.epoch)
  end
$$;

-- Returns objects with a stale use by sessions of the member, or by any session for an administrator.
create function sessile.stale_blobs(_seconds double precision) returns setof bytea
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  _me text := sessile.require_member();
  _is_admin boolean := sessile.is_admin();
begin
  return query
    select distinct b.hash from sessile.blob as b
    where (b.owner = _me or _is_admin) and sessile.is_stale(b, _seconds)
    limit 10000;
end $$;

-- Removes the stale uses of an object that `stale_blobs` has named. Returns true if nothing uses it any more: the caller
-- then deletes it and commits. Until then, claims wait. Returns false if a client claims it at this moment.
create function sessile.release_blob(_hash bytea, _seconds double precision) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  _me text := sessile.require_member();
  _is_admin boolean := sessile.is_admin();
begin
  if not pg_try_advisory_xact_lock(sessile.blob_lock(_hash)) then
    return false;
  end if;
  if not exists (
    select from sessile.blob as b where b.hash = _hash and (b.owner = _me or _is_admin) and sessile.is_stale(b, _seconds)
  ) then
    return false;
  end if;
  delete from sessile.blob as b where b.hash = _hash and sessile.is_stale(b, _seconds);
  return not exists (select from sessile.blob as b where b.hash = _hash);
end $$;

-- Packs and terms ------------------------------------------------------------------------------------------------------

-- Lines that follow each other, as one row. A line is in a pack or in `line`, never in both. data: the lines, each with
-- its newline, up to 256 KiB before compression; codec: 0 as it is, 1 zstd. chains: the chain after each line.
create table sessile.pack (
  session bigint not null,
  seq bigint not null check (seq > 0), -- The number of its first line.
  device bigint,
  n integer not null check (n between 1 and 4096),
  codec smallint not null check (codec between 0 and 1),
  author text not null,
  chains bytea not null check (octet_length(chains) = 16 * n),
  data bytea not null check (octet_length(data) <= 262144),
  primary key (session, seq)
);
-- So that a chain is read without the others.
alter table sessile.pack alter column chains set storage external, alter column data set storage external;

-- The words of the lines that were pushed together, as a filter that the client makes: blocks of 512 bits, of which each
-- word has seven bits in one block. It names candidates of a search, and has no text. There is no inverted index: it takes
-- ten times as long to fill as everything else that a push does.
create table sessile.terms (
  session bigint not null,
  seq bigint not null check (seq > 0), -- The number of the first line.
  n integer not null check (n > 0),
  at timestamptz not null default clock_timestamp(),
  filter bytea not null check (octet_length(filter) > 0 and octet_length(filter) % 64 = 0),
  primary key (session, seq)
);
-- So that a block is read without the others.
alter table sessile.terms alter column filter set storage external;
create index terms_at on sessile.terms (at);

alter table sessile.pack enable row level security;
alter table sessile.pack force row level security;
alter table sessile.terms enable row level security;
alter table sessile.terms force row level security;
create policy owner on sessile.pack to current_user using (true) with check (true);
create policy owner on sessile.terms to current_user using (true) with check (true);
-- Members reach terms by `candidates` alone.
grant select on sessile.pack to sessile_member;
create policy visible on sessile.pack for select to sessile_member
  using (exists (select from sessile.session as s where s.no = pack.session));

-- Appends lines and packs if the log is at this position, and notes their terms. Returns the new number of lines, or null
-- if the log is elsewhere. _counts: the number of lines in each pack; 0 for a line. _chains: the chain after each line of
-- a pack in sequence, or after the line.
create function sessile.push(
  _session bigint, _epoch integer, _n bigint, _chain bytea,
  _counts integer[], _chains bytea[], _codecs smallint[], _data bytea[], _bytes bigint, _summary bytea, _device bigint,
  _filter bytea
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  _me text := sessile.require_member();
  _items integer := cardinality(_data);
  _at bigint := _n;
  _chain_at bytea := _chain;
  _end bigint;
  _item integer;
begin
  if _items is null or _items > 4096 or cardinality(_counts) is distinct from _items
    or cardinality(_chains) is distinct from _items or cardinality(_codecs) is distinct from _items then
    raise exception 'a batch has up to 4,096 lines and packs, each with a count, a chain, a codec and data'
      using errcode = 'SES03';
  end if;
  if octet_length(_filter) % 64 <> 0 or octet_length(_filter) > 33554432 then
    raise exception 'a batch has a filter of whole blocks, of at most 32 MiB' using errcode = 'SES03';
  end if;
  if not exists (select from unnest(_counts) as c (n) where c.n is distinct from 0) then
    _end := sessile.append(_session, _epoch, _n, _chain, _chains, _codecs, _data, _bytes, _summary, _device);
  else
    if exists (
      select from unnest(_counts, _chains, _codecs, _data) as p (n, chains, codec, data)
      where p.n is null or p.n not between 0 and 4096
        or p.n > 0 and (
          octet_length(p.chains) is distinct from 16 * p.n or p.codec is null or p.codec not between 0 and 1
          or p.data is null or octet_length(p.data) > 262144
        )
    ) then
      raise exception 'a pack has 1 to 4,096 lines, a chain of 16 bytes for each, a known codec and at most 256 KiB'
        using errcode = 'SES03';
    end if;
    if (select sum(greatest(c.n, 1)) from unnest(_counts) as c (n)) > 4096 or _bytes is null
      or _bytes < (select sum(greatest(c.n, 1)) from unnest(_counts) as c (n)) then
      raise exception 'a batch has up to 4,096 lines' using errcode = 'SES03';
    end if;
    if (select sum(octet_length(d)) from unnest(_data) as d) > 41943040 then
      raise exception 'a batch has at most 40 MiB' using errcode = 'SES03';
    end if;
    -- Without lines, this compares the position, checks rights and the device, and locks the log.
    if sessile.append(_session, _epoch, _n, _chain, '{}', '{}', '{}', 0, _summary, _device) is null then
      return null;
    end if;
    insert into sessile.pack (session, seq, device, n, codec, author, chains, data)
      select _session, p.seq, _device, p.n, p.codec, _me, p.chains, p.data
      from (
        select i.n, i.chains, i.codec, i.data,
          _n + 1 + sum(greatest(i.n, 1)) over (order by i.at) - greatest(i.n, 1) as seq
        from unnest(_counts, _chains, _codecs, _data) with ordinality as i (n, chains, codec, data, at)
      ) as p
      where p.n > 0;
    for _item in 1 .. _items loop
      if _counts[_item] > 0 then
        _at := _at + _counts[_item];
        _chain_at := substring(_chains[_item] from 16 * _counts[_item] - 15);
      else
        -- A line that is not in a pack. The log has to be at its position.
        update sessile.session as s set n = _at, chain = _chain_at where s.no = _session and s.n <> _at;
        perform sessile.append(
          _session, _epoch, _at, _chain_at, _chains[_item : _item], _codecs[_item : _item], _data[_item : _item], 1, null,
          _device
        );
        _bytes := _bytes - 1;
        _at := _at + 1;
        _chain_at := _chains[_item];
      end if;
    end loop;
    update sessile.session as s set n = _at, chain = _chain_at, bytes = s.bytes + _bytes where s.no = _session;
    _end := _at;
  end if;
  if _end > _n and octet_length(_filter) > 0 then
    insert into sessile.terms (session, seq, n, filter) values (_session, _n + 1, _end - _n, _filter);
  end if;
  return _end;
end $$;

-- Returns where all of some terms were pushed together: the newest ranges of lines, in sessions that the member sees. It
-- looks at the newest _look ranges. If there are more, and it has not found _limit, the last row has no session, and the
-- time of the last one that it looked at. _blocks, _bits: for each term, its block and its seven bits.
create function sessile.candidates(
  _blocks integer[], _bits integer[], _before timestamptz, _limit integer, _look integer
)
returns table (session bigint, epoch integer, seq bigint, n integer, at timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  _me text := sessile.require_member();
  _until timestamptz;
  _found bigint;
begin
  if _blocks is null or cardinality(_blocks) not between 1 and 64
    or cardinality(_bits) is distinct from 7 * cardinality(_blocks)
    or exists (select from unnest(_blocks) as q (block) where q.block is null or q.block < 0)
    or exists (select from unnest(_bits) as q (bit) where q.bit is null or q.bit not between 0 and 511)
    or _limit is null or _limit not between 1 and 1000 or _look is null or _look not between 1 and 1000000 then
    raise exception 'a search has 1 to 64 terms, and looks for something' using errcode = 'SES03';
  end if;
  -- Most stores have fewer ranges in all, which is faster to find out.
  if exists (select from sessile.terms as t where _before is null or t.at < _before offset _look - 1) then
    select t.at into _until
      from sessile.terms as t
      join sessile.session as s on s.no = t.session
      where (_before is null or t.at < _before)
        and (
          s.owner = _me
          or exists (select from sessile.access as a where a.member = _me and (a.session = s.no or a.project = s.project))
        )
      order by t.at desc offset _look - 1 limit 1;
  end if;
  return query
    select t.session, s.epoch, t.seq, t.n, t.at
    from sessile.terms as t
    join sessile.session as s on s.no = t.session
    where (_before is null or t.at < _before) and (_until is null or t.at >= _until)
      and (
        s.owner = _me
        or exists (select from sessile.access as a where a.member = _me and (a.session = s.no or a.project = s.project))
      )
      and get_bit(substring(t.filter from _blocks[1] % (octet_length(t.filter) / 64) * 64 + 1 for 64), _bits[1]) = 1
      and get_bit(substring(t.filter from _blocks[1] % (octet_length(t.filter) / 64) * 64 + 1 for 64), _bits[2]) = 1
      and get_bit(substring(t.filter from _blocks[1] % (octet_length(t.filter) / 64) * 64 + 1 for 64), _bits[3]) = 1
      and get_bit(substring(t.filter from _blocks[1] % (octet_length(t.filter) / 64) * 64 + 1 for 64), _bits[4]) = 1
      and get_bit(substring(t.filter from _blocks[1] % (octet_length(t.filter) / 64) * 64 + 1 for 64), _bits[5]) = 1
      and get_bit(substring(t.filter from _blocks[1] % (octet_length(t.filter) / 64) * 64 + 1 for 64), _bits[6]) = 1
      and get_bit(substring(t.filter from _blocks[1] % (octet_length(t.filter) / 64) * 64 + 1 for 64), _bits[7]) = 1
      and (
        cardinality(_blocks) = 1
        or not exists (
          select from unnest(_blocks[2 :]) with ordinality as q (block, no)
          cross join lateral (
            select q.no + 1 as at,
              substring(t.filter from q.block % (octet_length(t.filter) / 64) * 64 + 1 for 64) as block
            offset 0
          ) as b
          where get_bit(b.block, _bits[7 * b.at - 6]) = 0
          or get_bit(b.block, _bits[7 * b.at - 5]) = 0
          or get_bit(b.block, _bits[7 * b.at - 4]) = 0
          or get_bit(b.block, _bits[7 * b.at - 3]) = 0
          or get_bit(b.block, _bits[7 * b.at - 2]) = 0
          or get_bit(b.block, _bits[7 * b.at - 1]) = 0
          or get_bit(b.block, _bits[7 * b.at - 0]) = 0
        )
      )
    order by t.at desc
    -- So that a next call with the last time as _before misses none.
    fetch first (_limit) rows with ties;
  get diagnostics _found = row_count;
  if _found < _limit and _until is not null then
    return query select null::bigint, null::integer, null::bigint, null::integer, _until;
  end if;
end $$;

-- Sealing --------------------------------------------------------------------------------------------------------------

-- Returns own sessions with at least _lines new lines since they were sealed, to which nothing was appended for a time.
create function sessile.unsealed(_seconds double precision, _lines bigint)
returns table (session bigint, epoch integer, sealed bigint, n bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  _me text := sessile.require_member();
begin
  return query
    select s.no, s.epoch, s.sealed, s.n from sessile.session as s
    where s.owner = _me and s.n - s.sealed >= greatest(_lines, 2)
      and s.seen_at < clock_timestamp() - make_interval(secs => _seconds)
    order by s.seen_at
    limit 1000;
end $$;

-- Returns lines of an own session that are rows and could be in a pack: those after the first _from, up to the first _to,
-- 4,096 of them, and _bytes except for a first one that is longer.
create function sessile.unsealed_lines(_session bigint, _epoch integer, _from bigint, _to bigint, _bytes bigint)
returns table (seq bigint, author text, device bigint, codec smallint, chain bytea, data bytea)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform sessile.require_own(sessile.require_member(), _session);
  perform sessile.require_epoch(_session, _epoch);
  return query
    select l.seq, l.author, l.device, l.codec, l.chain, l.data
    from (
      select i.*, sum(octet_length(i.data)) over (order by i.seq) - octet_length(i.data) as before
      from (
        select r.seq, r.author, r.device, r.codec, r.chain, r.data
        from sessile.line as r
        where r.session = _session and r.seq > _from and r.seq <= _to and r.codec in (0, 1)
          and octet_length(r.data) < 262144
        order by r.seq
        limit 4096
      ) as i
    ) as l
    where l.before < _bytes
    order by l.seq;
end $$;

-- Puts packs in the place of lines that are rows, in an own session. Each pack begins with the line _seqs and has _counts
-- lines, all of one author and device. Its filter takes the place of those of its lines. The log stays the same for
-- readers: they compare the chain of what they read. _sealed: how many lines need not be looked at again.
create function sessile.seal(
  _session bigint, _epoch integer, _seqs bigint[], _counts integer[], _codecs smallint[], _data bytea[],
  _filters bytea[], _sealed bigint
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  _items integer := cardinality(_seqs);
  _n_packs bigint;
begin
  perform sessile.require_own(sessile.require_member(), _session);
  if _items is null or _items > 256 or cardinality(_counts) is distinct from _items
    or cardinality(_codecs) is distinct from _items or cardinality(_data) is distinct from _items
    or cardinality(_filters) is distinct from _items or _sealed is null or exists (
      select from unnest(_seqs, _counts, _codecs, _data, _filters) as p (seq, n, codec, data, filter)
      where p.seq is null or p.n is null or p.n not between 2 and 4096 or p.codec is null or p.codec not between 0 and 1
        or p.data is null or octet_length(p.data) > 262144 or p.filter is null or octet_length(p.filter) % 64 <> 0
        or octet_length(p.filter) > 4194304
    ) then
    raise exception 'up to 256 packs are sealed, each with 2 to 4,096 lines and a filter' using errcode = 'SES03';
  end if;
  -- Every change of a log locks this row, so the lines stay as they are until the end of the transaction.
  perform from sessile.session as s where s.no = _session and s.epoch = _epoch for update;
  if not found then
    raise exception 'the log was replaced' using errcode = 'SES05';
  end if;
  insert into sessile.pack (session, seq, device, n, codec, author, chains, data)
    select _session, p.seq, min(l.device), p.n, p.codec, min(l.author), string_agg(l.chain, ''::bytea order by l.seq),
      p.data
    from unnest(_seqs, _counts, _codecs, _data) as p (seq, n, codec, data)
    join sessile.line as l on l.session = _session and l.seq >= p.seq and l.seq < p.seq + p.n and l.codec in (0, 1)
    group by p.seq, p.n, p.codec, p.data
    having count(*) = p.n and min(l.author) = max(l.author)
      and min(l.device) is not distinct from max(l.device) and count(l.device) in (0, p.n);
  get diagnostics _n_packs = row_count;
  if _n_packs <> _items then
    raise exception 'other lines than those to seal' using errcode = 'SES05';
  end if;
  delete from sessile.line as l using unnest(_seqs, _counts) as p (seq, n)
    where l.session = _session and l.seq >= p.seq and l.seq < p.seq + p.n;
  with gone as (
    delete from sessile.terms as t using unnest(_seqs, _counts) as p (seq, n)
      where t.session = _session and t.seq >= p.seq and t.seq + t.n <= p.seq + p.n
      returning p.seq, t.at
  )
  insert into sessile.terms (session, seq, n, at, filter)
    select _session, p.seq, p.n, g.at, p.filter
    from unnest(_seqs, _counts, _filters) as p (seq, n, filter)
    join (select o.seq, max(o.at) as at from gone as o group by o.seq) as g on g.seq = p.seq
    where octet_length(p.filter) > 0
    -- A filter that begins here and is still there has more lines than the pack.
    on conflict do nothing;
  update sessile.session as s set sealed = greatest(s.sealed, least(_sealed, s.n)) where s.no = _session;
end $$;

revoke execute on all functions in schema sessile from public;
grant execute on function
  sessile.me(), sessile.is_admin(), sessile.version(), sessile.require_member(), sessile.about(), sessile.device(text),
  sessile.heads(timestamptz), sessile.head(text, text), sessile.tombstones(timestamptz),
  sessile.create_session(text, bytea, bytea, boolean),
  sessile.append(bigint, integer, bigint, bytea, bytea[], smallint[], bytea[], bigint, bytea, bigint),
  sessile.read_lines(bigint, integer, bigint, bigint, bigint), sessile.chains(bigint, integer, bigint[]),
  sessile.raise_epoch(bigint, integer, bigint, bytea, bytea, bytea, text, bigint), sessile.bury(text, bigint)
  to sessile_member;

-- Members, projects and sharing.
--
-- Who does not see a session or a project gets the same answer as for one that does not exist. Whatever makes a session
-- visible to a member also changes its seen_at, so that `heads` of this member shows it. Each change is on record.

-- Returns the name of an administrator: a member with this right, or a login with the rights of the owner of the schema.
create function sessile.require_admin() returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if sessile.is_admin()
    or pg_has_role(session_user, (select n.nspowner from pg_namespace as n where n.nspname = 'sessile'), 'usage') then
    return session_user::text;
  end if;
  perform sessile.require_member();
  raise exception 'only an administrator does this' using errcode = 'SES06';
end $$;

-- The next five are for the functions below only.
create function sessile.require_known(_member text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from sessile.member as m where m.name = _member and m.revoked_at is null) then
    raise exception 'no such member' using errcode = 'SES07';
  end if;
end $$;

create function sessile.require_right(_may text) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if _may is null or _may not in ('read', 'write') then
    raise exception 'a right is read or write' using errcode = 'SES03';
  end if;
end $$;

create function sessile.require_own(_me text, _session bigint) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if sessile.require_session(_me, _session) <> 'own' then
    raise exception 'only the owner of a session does this' using errcode = 'SES06';
  end if;
end $$;

-- Returns the number of a project and what the member may do there. The right is null for an administrator without
-- access, who grants and revokes but does not see the sessions.
create function sessile.require_project(_me text, _project text, out no bigint, out may text, out may_grant boolean)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  select p.no, case when p.made_by = _me then 'write' else a.may end, p.made_by = _me or sessile.is_admin()
    into no, may, may_grant
    from sessile.project as p
    left join sessile.access as a on a.member = _me and a.project = p.no
    where p.name = _project;
  if no is null or (may is null and not may_grant) then
    raise exception 'no such project' using errcode = 'SES08';
  end if;
end $$;

create function sessile.note(
  _me text, _act text, _session bigint default null, _whom text default null, _project text default null,
  _detail text default null
) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  insert into sessile.audit (member, act, session, header_id, whom, project, detail)
    values (
      _me, _act, _session, (select s.header_id from sessile.session as s where s.no = _session), _whom, _project, _detail
    )
$$;

-- Makes a login a member, or a former member one again. A null right leaves the right as it is.
create function sessile.add_member(_name text, _is_admin boolean) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  _me text := sessile.require_admin();
begin
  if octet_length(_name) not between 1 and 63 or _name is null then
    raise exception 'the name of a member has 1 to 63 bytes' using errcode = 'SES03';
  end if;
  insert into sessile.member as m (name, is_admin) values (_name, coalesce(_is_admin, false))
    on conflict (name) do update set revoked_at = null, is_admin = coalesce(_is_admin, m.is_admin);
  perform sessile.note(_me, 'add member', _whom => _name, _detail => case when _is_admin then 'administrator' end);
end $$;

-- Ends a membership and all that was shared with the member. Its sessions stay. Returns false if there is none.
create function sessile.revoke_member(_name text) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  _me text := sessile.require_admin();
begin
  update sessile.member as m set revoked_at = clock_timestamp(), is_admin = false
    where m.name = _name and m.revoked_at is null;
  if not found then
    return false;
  end if;
  delete from sessile.access as a where a.member = _name;
  perform sessile.note(_me, 'revoke member', _whom => _name);
  return true;
end $$;

-- Returns all members, each with the number of its sessions that the caller sees.
create function sessile.members()
returns table (name text, is_admin boolean, joined_at timestamptz, revoked_at timestamptz, sessions bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  _me text := sessile.require_member();
begin
  return query
    select m.name, m.is_admin, m.joined_at, m.revoked_at, coalesce(v.sessions, 0)
    from sessile.member as m
    left join (
      select s.owner, count(*) as sessions
      from sessile.session as s
      where s.owner = _me
        or s.no in (select a.session from sessile.access as a where a.member = _me and a.session is not null)
        or s.project in (select a.project from sessile.access as a where a.member = _me and a.project is not null)
      group by s.owner
    ) as v on v.owner = m.name
    order by m.name;
end $$;

-- Lets a member read or write a session of the caller. Returns false if it already may exactly that.
create function sessile.share(_session bigint, _member text, _may text) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  _me text := sessile.require_member();
begin
  perform sessile.require_own(_me, _session);
  perform sessile.require_right(_may);
  perform sessile.require_known(_member);
  if _member = _me then
    raise exception 'this is your own session' using errcode = 'SES03';
  end if;
  insert into sessile.access as a (member, session, may, granted_by) values (_member, _session, _may, _me)
    on conflict (member, project, session) do update set may = _may, granted_by = _me, granted_at = now()
    where a.may <> _may;
  if not found then
    return false;
  end if;
  update sessile.session as s set seen_at = clock_timestamp() where s.no = _session;
  perform sessile.note(_me, 'share', _session, _member, _detail => _may);
  return true;
end $$;

-- Takes a share back. Returns false if there is none.
create function sessile.unshare(_session bigint, _member text) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  _me text := sessile.require_member();
begin
  perform sessile.require_own(_me, _session);
  delete from sessile.access as a where a.session = _session and a.member = _member;
  if not found then
    return false;
  end if;
  perform sessile.note(_me, 'unshare', _session, _member);
  return true;
end $$;

-- Returns who may do what with a session of the caller: by a share, and by its project.
create function sessile.shares(_session bigint)
returns table (member text, may text, project text, granted_by text, granted_at timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  _me text := sessile.require_member();
begin
  perform sessile.require_own(_me, _session);
  return query
    select a.member, a.may, p.name, a.granted_by, a.granted_at
    from sessile.session as s
    join sessile.access as a on a.session = s.no or a.project = s.project
    left join sessile.project as p on p.no = a.project
    where s.no = _session and a.member <> _me
    order by a.member, p.name nulls first;
end $$;

create function sessile.create_project(_name text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  _me text := sessile.require_member();
  _no bigint;
begin
  if _name is null or octet_length(_name) not between 1 and 200 then
    raise exception 'the name of a project has 1 to 200 bytes' using errcode = 'SES03';
  end if;
  insert into sessile.project (name, made_by) values (_name, _me) on conflict do nothing returning no into _no;
  if _no is null then
    raise exception 'this name of a project is taken' using errcode = 'SES03';
  end if;
  insert into sessile.access (member, project, may, granted_by) values (_me, _no, 'write', _me);
  perform sessile.note(_me, 'create project', _project => _name);
end $$;

-- Puts a session of the caller into a project, or out of its project. Returns false if it is already there.
create function sessile.set_project(_session bigint, _project text) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  _me text := sessile.require_member();
  _no bigint;
  _may text;
begin
  perform sessile.require_own(_me, _session);
  if _project is not null then
    select r.no, r.may into _no, _may from sessile.require_project(_me, _project) as r;
    if _may is distinct from 'write' then
      raise exception 'the member may not add sessions to this project' using errcode = 'SES06';
    end if;
  end if;
  update sessile.session as s set project = _no, seen_at = clock_timestamp()
    where s.no = _session and s.project is distinct from _no;
  if not found then
    return false;
  end if;
  perform sessile.note(_me, 'set project', _session, _project => _project);
  return true;
end $$;

-- Lets a member read or write all sessions of a project. For its maker and for administrators. Returns false if it
-- already may exactly that.
create function sessile.grant_project(_project text, _member text, _may text) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  _me text := sessile.require_member();
  _no bigint;
  _may_grant boolean;
begin
  select r.no, r.may_grant into _no, _may_grant from sessile.require_project(_me, _project) as r;
  if not _may_grant then
    raise exception 'only its maker or an administrator grants a project' using errcode = 'SES06';
  end if;
  perform sessile.require_right(_may);
  perform sessile.require_known(_member);
  insert into sessile.access as a (member, project, may, granted_by) values (_member, _no, _may, _me)
    on conflict (member, project, session) do update set may = _may, granted_by = _me, granted_at = now()
    where a.may <> _may;
  if not found then
    return false;
  end if;
  update sessile.session as s set seen_at = clock_timestamp() where s.project = _no;
  perform sessile.note(_me, 'grant project', _whom => _member, _project => _project, _detail => _may);
  return true;
end $$;

-- Takes the access to a project back. Returns false if there is none.
create function sessile.revoke_project(_project text, _member text) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  _me text := sessile.require_member();
  _no bigint;
  _may_grant boolean;
begin
  select r.no, r.may_grant into _no, _may_grant from sessile.require_project(_me, _project) as r;
  if not _may_grant then
    raise exception 'only its maker or an administrator revokes a project' using errcode = 'SES06';
  end if;
  delete from sessile.access as a where a.project = _no and a.member = _member;
  if not found then
    return false;
  end if;
  perform sessile.note(_me, 'revoke project', _whom => _member, _project => _project);
  return true;
end $$;

-- Returns the projects that the caller sees: those it has access to, those it has made, and all for an administrator. The
-- right is null, and the number of sessions too, where an administrator has no access.
create function sessile.projects()
returns table (name text, made_by text, made_at timestamptz, may text, members bigint, sessions bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  _me text := sessile.require_member();
begin
  return query
    select p.name, p.made_by, p.made_at, mine.may,
      (select count(*) from sessile.access as a where a.project = p.no),
      case when mine.may is not null then (select count(*) from sessile.session as s where s.project = p.no) end
    from sessile.project as p
    left join sessile.access as mine on mine.project = p.no and mine.member = _me
    where mine.may is not null or p.made_by = _me or sessile.is_admin()
    order by p.name;
end $$;

-- Returns who may do what with the sessions of a project, for all who see it.
create function sessile.project_members(_project text)
returns table (member text, may text, project text, granted_by text, granted_at timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  _no bigint;
begin
  select r.no into _no from sessile.require_project(sessile.require_member(), _project) as r;
  return query
    select a.member, a.may, _project, a.granted_by, a.granted_at
    from sessile.access as a where a.project = _no order by a.member;
end $$;

-- Returns the last acts of the caller, or of all members for an administrator, the last first.
create function sessile.audit(_since timestamptz, _limit integer)
returns table (
  at timestamptz, member text, device text, act text, header_id text, n bigint, whom text, project text, detail text
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  _me text := sessile.require_member();
  _is_admin boolean := sessile.is_admin();
begin
  return query
    select a.at, a.member, d.name, a.act, a.header_id, a.n, a.whom, a.project, a.detail
    from sessile.audit as a
    left join sessile.device as d on d.no = a.device
    where (_since is null or a.at >= _since) and (_is_admin or a.member = _me)
    order by a.at desc
    limit least(greatest(_limit, 0), 10000);
end $$;

revoke execute on all functions in schema sessile from public;
grant execute on function
  sessile.require_admin(), sessile.add_member(text, boolean), sessile.revoke_member(text), sessile.members(),
  sessile.share(bigint, text, text), sessile.unshare(bigint, text), sessile.shares(bigint),
  sessile.create_project(text), sessile.set_project(bigint, text), sessile.grant_project(text, text, text),
  sessile.revoke_project(text, text), sessile.projects(), sessile.project_members(text),
  sessile.audit(timestamptz, integer)
  to sessile_member;
-- For objects of large lines.
grant execute on function
  sessile.claim_blobs(bigint, bytea[]), sessile.stale_blobs(double precision),
  sessile.release_blob(bytea, double precision)
  to sessile_member;
grant execute on function
  sessile.push(
    bigint, integer, bigint, bytea, integer[], bytea[], smallint[], bytea[], bigint, bytea, bigint, bytea
  ),
  sessile.candidates(integer[], integer[], timestamptz, integer, integer)
  to sessile_member;
grant execute on function
  sessile.unsealed(double precision, bigint), sessile.unsealed_lines(bigint, integer, bigint, bigint, bigint),
  sessile.seal(bigint, integer, bigint[], integer[], smallint[], bytea[], bytea[], bigint)
  to sessile_member;

-- Who has written which lines.

-- Returns runs of lines of one author and one device, in order: the number of the first line and how many there are.
create function sessile.authors(_session bigint, _epoch integer)
returns table (seq bigint, n bigint, author text, device text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform sessile.require_session(sessile.require_member(), _session);
  perform sessile.require_epoch(_session, _epoch);
  return query
    select r.seq, r.n, r.author, d.name
    from (
      select min(i.seq) as seq, sum(i.n)::bigint as n, i.author, i.device
      from (
        select f.*, count(*) filter (where f.is_first) over (order by f.seq) as run
        from (
          select p.*,
            p.author is distinct from lag(p.author) over (order by p.seq)
              or p.device is distinct from lag(p.device) over (order by p.seq) as is_first
          from (
            select l.seq, 1 as n, l.author, l.device from sessile.line as l where l.session = _session
            union all
            select k.seq, k.n, k.author, k.device from sessile.pack as k where k.session = _session
          ) as p
        ) as f
      ) as i
      group by i.run, i.author, i.device
    ) as r
    left join sessile.device as d on d.no = r.device
    order by r.seq;
end $$;

revoke execute on function sessile.authors(bigint, integer) from public;
grant execute on function sessile.authors(bigint, integer) to sessile_member;
