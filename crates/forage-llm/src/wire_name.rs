//! Names of the wire protocols.

use serde::{Deserialize, Serialize};

/// A wire protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// OpenAI chat completions, which most hosted and all common local servers support:
    /// `POST {base_url}/chat/completions`.
    #[default]
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// Anthropic messages: `POST {base_url}/v1/messages`, where `base_url` has the form of
    /// `ANTHROPIC_BASE_URL`.
    Anthropic,
    /// Gemini: `POST {base_url}/v1beta/models/{model}:generateContent`.
    Gemini,
}

impl Wire {
    /// All wire protocols.
    pub const ALL: [Self; 3] = [Self::OpenAiChat, Self::Anthropic, Self::Gemini];

    /// The name in tables and recordings.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// Looks up the wire protocol with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wire| wire.name() == name)
    }
}
