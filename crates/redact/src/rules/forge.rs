//! Keys of code hosts, package registries and build services.

use super::Rule;
use crate::check;

pub(super) const RULES: &[Rule] = &[
    Rule::new("github-token", "GitHub token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"gh[pousr]_[A-Za-z0-9]{36}")
        .checksum(check::github),
    Rule::new("github-refresh-token", "GitHub refresh token", &["ghr_"], r"ghr_[A-Za-z0-9]{76}"),
    Rule::new(
        "github-fine-grained-token",
        "GitHub fine-grained token",
        &["github_pat_"],
        r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}",
    ),
    Rule::new("npm-token", "npm access token", &["npm_"], r"npm_[A-Za-z0-9]{36}").checksum(check::npm),
    Rule::new(
        "gitlab-token",
        "GitLab token",
        &[
            "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-",
            "glffct-", "glwt-", "glrtr-",
        ],
        r"gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt)-[A-Za-z0-9_.-]{19,300}[A-Za-z0-9_]",
    ),
    Rule::new(
        "gitlab-runner-token",
        "GitLab runner registration token",
        &["GR1348941"],
        r"GR1348941[A-Za-z0-9_-]{20,24}",
    ),
    Rule::new("pypi-token", "PyPI token", &["pypi-"], r"pypi-AgE[A-Za-z0-9_-]{70,1000}").long(),
    Rule::new("crates-io-token", "crates.io token", &["cio"], r"cio[A-Za-z0-9]{32}")
        .floor(3.6)
        .check(check::random_after_prefix),
    Rule::new("rubygems-key", "RubyGems API key", &["rubygems_"], r"rubygems_[0-9a-f]{48}"),
    Rule::new("nuget-key", "NuGet API key", &["oy2"], r"oy2[a-z0-9]{43}").floor(3.6),
    Rule::new("clojars-token", "Clojars deploy token", &["CLOJARS_"], r"CLOJARS_[0-9a-f]{60}"),
    Rule::new("packagist-token", "Packagist token", &["packagist_"], r"packagist_(?:ac|oc|or|uc)[a-z]_[0-9a-f]{60,90}"),
    Rule::new(
        "docker-token",
        "Docker Hub token",
        &["dckr_pat_", "dckr_oat_"],
        r"dckr_(?:pat_[A-Za-z0-9_-]{27}|oat_[A-Za-z0-9_-]{32})",
    ),
    Rule::new(
        "atlassian-token",
        "Atlassian or Bitbucket token",
        &["ATATT3", "ATCTT3", "ATBB", "BBDC-"],
        r"(?:AT[AC]TT3[A-Za-z0-9_=-]{100,300}|ATBB[A-Za-z0-9]{32}|BBDC-[A-Za-z0-9+/@_-]{40,50})",
    ),
    Rule::new("sourcegraph-token", "Sourcegraph token", &["sgp_"], r"sgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}"),
    Rule::new(
        "artifactory-key",
        "Artifactory API key or reference token",
        &["AKCp", "cmVmdGtu"],
        r"(?:AKCp[A-Za-z0-9]{69}|cmVmdGtu[A-Za-z0-9]{56})",
    ),
    Rule::new("buildkite-token", "Buildkite token", &["bkua_", "bkct_", "bkaj_"], r"bk(?:ua|ct|aj)_[A-Za-z0-9]{32,44}"),
    Rule::new(
        "circleci-token",
        "CircleCI token",
        &["CCIPAT_", "CCIPRJ_"],
        r"CCIP(?:AT|RJ)_[A-Za-z0-9]{22}_[0-9a-f]{40}",
    ),
    Rule::new("cloudsmith-key", "Cloudsmith API key", &["cs_"], r"cs_[A-Za-z0-9]{32,36}")
        .likely()
        .floor(3.6)
        .check(check::random_after_prefix),
    Rule::new("sonar-token", "SonarQube token", &["sqp_", "squ_", "sqa_", "sqb_"], r"sq[puab]_[0-9a-f]{40}"),
    Rule::new("snyk-token", "Snyk token", &["snyk_"], r"snyk_[us]at\.[0-9a-f]{8}\.[A-Za-z0-9_.-]{60,400}").long(),
    Rule::new(
        "jfrog-identity-token",
        "JFrog identity token",
        &["eyJ2ZXIiOiIy"],
        r"eyJ2ZXIiOiIy[A-Za-z0-9_-]{40,400}\.[A-Za-z0-9_-]{60,2000}\.[A-Za-z0-9_-]{300,800}",
    )
    .long(),
    Rule::new("airplane-key", "Airplane API key", &["aptk_"], r"aptk_[A-Za-z0-9]{30,44}"),
    Rule::new("gitpod-token", "Gitpod token", &["gitpod_pat_"], r"gitpod_pat_[A-Za-z0-9_.-]{40,120}"),
    Rule::new("prefect-token", "Prefect API key", &["pnu_", "pnb_"], r"pn[ub]_[A-Za-z0-9]{36}"),
    Rule::new("readme-key", "ReadMe API key", &["rdme_"], r"rdme_[a-z0-9]{70}"),
    Rule::new("postman-key", "Postman API key", &["PMAK-", "PMAT-"], r"PMA[KT]-[0-9a-zA-Z]{24,26}(?:-[0-9a-f]{34})?"),
    Rule::new("retool-key", "Retool API key", &["retool_"], r"retool_(?:api_)?[0-9A-Za-z]{26,44}")
        .check(check::random_after_prefix),
    Rule::new("n8n-key", "n8n API key", &["n8n_api_"], r"n8n_api_[A-Za-z0-9]{40,80}"),
    Rule::new("checkly-key", "Checkly API key", &["cu_"], r"cu_[0-9A-Za-z]{24,40}")
        .likely()
        .floor(3.6)
        .check(check::random_after_prefix),
];
