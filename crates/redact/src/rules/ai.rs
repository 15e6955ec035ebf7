//! Keys of services that run models.

use super::Rule;
use crate::check;

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        "anthropic-key",
        "Anthropic API, admin or OAuth key",
        &["sk-ant-"],
        r"sk-ant-(?:api|admin|oat|ort|sid)[0-9]{2}-[A-Za-z0-9_-]{60,128}",
    ),
    Rule::new(
        "openai-key",
        "OpenAI API key",
        &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"],
        r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{40,200}",
    )
    .floor(3.5),
    Rule::new(
        "openai-legacy-key",
        "OpenAI API key, older form",
        &["T3BlbkFJ"],
        r"sk-[A-Za-z0-9_-]{20,100}T3BlbkFJ[A-Za-z0-9_-]{20,100}",
    )
    .inside(110),
    Rule::new(
        "openai-compatible-key",
        "key in the form of OpenAI's: DeepSeek, Moonshot, Stability",
        &["sk-"],
        r"sk-(?:[A-Za-z0-9]{48,64}|[0-9a-f]{32})",
    )
    .floor(3.2)
    .check(check::openai_compatible),
    Rule::new("openrouter-key", "OpenRouter API key", &["sk-or-v1-"], r"sk-or-v1-[0-9a-f]{64}"),
    Rule::new("litellm-key", "LiteLLM virtual key", &["sk-"], r"sk-[A-Za-z0-9_-]{22}")
        .floor(3.5)
        .likely()
        .check(check::random_after_prefix),
    Rule::new("google-api-key", "Google API key", &["AIza"], r"AIza[A-Za-z0-9_-]{35}").floor(3.3),
    Rule::new("groq-key", "Groq API key", &["gsk_"], r"gsk_[A-Za-z0-9]{52}"),
    Rule::new("xai-key", "xAI API key", &["xai-"], r"xai-[A-Za-z0-9_]{70,90}"),
    Rule::new("huggingface-token", "Hugging Face token", &["hf_"], r"hf_[A-Za-z0-9]{34,40}")
        .check(check::random_after_prefix),
    Rule::new("huggingface-org-token", "Hugging Face organisation token", &["api_org_"], r"api_org_[A-Za-z]{34}"),
    Rule::new("replicate-token", "Replicate API token", &["r8_"], r"r8_[A-Za-z0-9]{37,40}"),
    Rule::new("perplexity-key", "Perplexity API key", &["pplx-"], r"pplx-[A-Za-z0-9]{48,64}"),
    Rule::new("nvidia-key", "NVIDIA API key", &["nvapi-"], r"nvapi-[A-Za-z0-9_-]{60,70}"),
    Rule::new("fireworks-key", "Fireworks API key", &["fw_"], r"fw_[A-Za-z0-9]{22,24}")
        .floor(3.5)
        .check(check::random_after_prefix),
    Rule::new("cerebras-key", "Cerebras API key", &["csk-"], r"csk-[a-z0-9]{48}"),
    Rule::new("elevenlabs-key", "ElevenLabs API key", &["sk_"], r"sk_(?:[0-9a-f]{48}|[0-9a-f]{32})")
        .check(check::random_after_prefix),
    Rule::new("langsmith-key", "LangSmith API key", &["lsv2_"], r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    Rule::new(
        "langfuse-secret-key",
        "Langfuse secret key",
        &["sk-lf-"],
        r"sk-lf-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    )
    .floor(2.8),
    Rule::new(
        "pinecone-key",
        "Pinecone API key",
        &["pcsk_"],
        r"pcsk_[A-Za-z0-9]{4,8}_[A-Za-z0-9]{50,70}|pcsk_[A-Za-z0-9_]{60,120}",
    ),
    Rule::new("tavily-key", "Tavily API key", &["tvly-"], r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{32}"),
    Rule::new("firecrawl-key", "Firecrawl API key", &["fc-"], r"fc-[0-9a-f]{32}"),
    Rule::new("jina-key", "Jina API key", &["jina_"], r"jina_[0-9a-f]{32}[A-Za-z0-9_-]{24,32}"),
    Rule::new("voyage-key", "Voyage API key", &["pa-"], r"pa-[A-Za-z0-9_-]{43}")
        .floor(3.6)
        .check(check::random_after_prefix),
    Rule::new("bedrock-key", "Amazon Bedrock API key", &["ABSK"], r"ABSK[A-Za-z0-9+/]{60,200}={0,2}")
        .floor(3.8)
        .check(check::random_after_prefix),
    Rule::new(
        "bedrock-short-key",
        "Amazon Bedrock short-term key",
        &["bedrock-api-key-"],
        r"bedrock-api-key-[A-Za-z0-9+/=_-]{60,4000}",
    )
    .long(),
    Rule::new("wandb-key", "Weights & Biases API key", &["wandb_v1_"], r"wandb_v1_[A-Za-z0-9_]{40,120}"),
    Rule::new("cursor-key", "Cursor API key", &["key_"], r"key_[0-9a-f]{64}"),
    Rule::new("apify-token", "Apify API token", &["apify_api_"], r"apify_api_[A-Za-z0-9]{26,40}"),
    Rule::new("zapier-nla-key", "Zapier action key", &["sk_ac_", "sk-ak-"], r"sk[_-]a[ck][_-][A-Za-z0-9]{40,48}"),
    Rule::new("portkey-key", "Portkey API key", &["pk-"], r"pk-[A-Za-z0-9]{32}")
        .likely()
        .floor(3.6)
        .check(check::random_after_prefix),
    Rule::new("promptlayer-key", "PromptLayer API key", &["pl_"], r"pl_[0-9A-Za-z]{32}")
        .likely()
        .floor(3.4)
        .check(check::random_after_prefix),
];
