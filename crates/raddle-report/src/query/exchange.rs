//! Requests and responses of the query interface: one JSON object in, one out. `QUERY.md` describes them.

use serde::{Deserialize, Serialize};

use super::{Answer, Index, NoAnswer, Question};

/// The version of the query interface.
pub const VERSION: u32 = 1;

/// A request: questions about one failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The version that the asker speaks.
    pub version: u32,
    /// The questions.
    pub questions: Vec<Question>,
}

/// A response: an answer for each question, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response {
    /// The version of the response.
    pub version: u32,
    /// The answers.
    pub answers: Vec<Reply>,
}

/// The reply to one question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// The answer.
    Answer(Answer),
    /// The reason why there is none, in one sentence.
    Error(String),
}

impl Request {
    /// Reads a request.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the text.
    pub fn parse(text: &str) -> Result<Request, NoAnswer> {
        #[derive(Deserialize)]
        struct Header {
            version: u32,
        }
        let wrong = |error: serde_json::Error| {
            NoAnswer(format!(
                "the request cannot be read ({error}): give {{\"version\":{VERSION},\"questions\":[...]}} as QUERY.md describes"
            ))
        };
        let Header { version } = serde_json::from_str(text).map_err(wrong)?;
        if version != VERSION {
            return Err(NoAnswer(format!(
                "the request has version {version}, and this Raddle answers version {VERSION}: ask in that version"
            )));
        }
        serde_json::from_str(text).map_err(wrong)
    }

    /// Answers every question.
    pub fn answer(&self, index: &Index<'_>) -> Response {
        let reply = |question| match index.answer(question) {
            Ok(answer) => Reply::Answer(answer),
            Err(NoAnswer(reason)) => Reply::Error(reason),
        };
        Response { version: VERSION, answers: self.questions.iter().map(reply).collect() }
    }
}
