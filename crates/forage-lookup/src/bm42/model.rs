//! The neural net: BERT up to the attention of its last layer, of which the row of the first token is all that counts.

use std::path::Path;

use serde_json::Value;

use super::files::{read, unavailable};
use super::matrix::Panels;
use super::weights::ModelWeights;
use super::word_pieces::WordPieces;
use crate::encoder::EncodingError;
use crate::limits;

const WEIGHTS: &str = "model.safetensors";
const CONFIGURATION: &str = "config.json";

/// The numbers of a model that its weights alone don't say.
#[derive(Clone, Copy)]
struct ModelShape {
    layers: usize,
    heads: usize,
    width: usize,
    /// Numbers per token between the two steps of a layer's feed-forward part.
    inner: usize,
    /// What keeps a row of equal numbers from being divided by zero.
    epsilon: f64,
}

/// all-MiniLM-L6-v2.
const MINI_LM: ModelShape = ModelShape { layers: 6, heads: 12, width: 384, inner: 1536, epsilon: 1e-12 };

/// A model with its weights.
pub(super) struct Model {
    shape: ModelShape,
    tokens: Vec<f32>,
    places: Vec<f32>,
    norm: Norm,
    /// All but the last.
    layers: Vec<Layer>,
    last: Attention,
}

impl Model {
    /// From the files of a directory; `None` if there are no weights.
    pub(super) fn open(directory: &Path, vocabulary: &WordPieces) -> Result<Option<Self>, EncodingError> {
        let path = directory.join(WEIGHTS);
        let Some(mut weights) = ModelWeights::open(&path)? else { return Ok(None) };
        let shape = ModelShape::open(&directory.join(CONFIGURATION))?;
        let weights = &mut weights;
        let ModelShape { width, .. } = shape;

        let name = "embeddings.word_embeddings.weight";
        let count = weights.rows(name)?;
        if count <= vocabulary.highest() as usize {
            let (highest, vocabulary) = (vocabulary.highest(), vocabulary.path().display());
            return Err(
                weights.damaged(name, &format!("has {count} rows, and {vocabulary} the token {highest}"))
            );
        }
        let tokens = weights.take(name, &[count, width])?;
        let name = "embeddings.position_embeddings.weight";
        let count = weights.rows(name)?;
        if count < limits::BM42_TOKENS {
            return Err(
                weights.damaged(name, &format!("has {count} rows, of {} at least", limits::BM42_TOKENS))
            );
        }
        let mut places = weights.take(name, &[count, width])?;
        places.truncate(limits::BM42_TOKENS * width);
        // A text is one sentence: the kind of every token is the first.
        let name = "embeddings.token_type_embeddings.weight";
        let kinds = weights.take(name, &[weights.rows(name)?, width])?;
        for place in places.chunks_exact_mut(width) {
            add(place, &kinds[..width.min(kinds.len())]);
        }
        let norm = Norm::take(weights, "embeddings.LayerNorm", shape)?;
        let last = shape.layers - 1;
        let layers = (0..last).map(|layer| Layer::take(weights, layer, shape)).collect::<Result<_, _>>()?;
        let last = Attention::take(weights, last, shape)?;
        Ok(Some(Self { shape, tokens, places, norm, layers, last }))
    }

    /// How much the first token attends to each, on average over the heads of the last layer. Expects tokens of the
    /// vocabulary that the model was opened with, [`limits::BM42_TOKENS`] at most.
    pub(super) fn attention(&self, tokens: &[u32]) -> Vec<f32> {
        let width = self.shape.width;
        let mut rows = Vec::with_capacity(tokens.len() * width);
        for &token in tokens {
            rows.extend_from_slice(&self.tokens[token as usize * width..][..width]);
        }
        add(&mut rows, &self.places);
        self.norm.apply(&mut rows);
        for layer in &self.layers {
            rows = layer.apply(rows, self.shape);
        }
        let mut mean = vec![0.0; tokens.len()];
        let queries = self.last.query.apply(&rows[..width]);
        let keys = self.last.key.apply(&rows);
        for head in 0..self.shape.heads {
            add(&mut mean, &self.shape.head_attention(head, &queries, &keys));
        }
        for value in &mut mean {
            *value /= self.shape.heads as f32;
        }
        mean
    }
}

impl ModelShape {
    /// From a `config.json`; all-MiniLM-L6-v2's if there is none.
    fn open(path: &Path) -> Result<Self, EncodingError> {
        let Some(text) = read(path, limits::MODEL_CONFIGURATION_BYTES)? else { return Ok(MINI_LM) };
        let wrong = |what: &str| unavailable(path, &format!("{what}; use all-MiniLM-L6-v2's"));
        let file: Value =
            serde_json::from_str(&text).map_err(|error| wrong(&format!("is damaged: {error}")))?;
        for (name, expected) in
            [("model_type", "bert"), ("hidden_act", "gelu"), ("position_embedding_type", "absolute")]
        {
            if let Some(found) = file.get(name).filter(|found| !found.is_null() && **found != expected) {
                let found = found.to_string().chars().take(80).collect::<String>();
                return Err(wrong(&format!(
                    "is of a model that bm42 can't run: {name} is {found}, not {expected:?}"
                )));
            }
        }
        let number = |name: &str, default: usize, limit: usize| match file.get(name) {
            None => Ok(default),
            Some(found) => {
                let number = found.as_u64().and_then(|number| usize::try_from(number).ok());
                let number = number.filter(|number| (1..=limit).contains(number));
                number.ok_or_else(|| wrong(&format!("should have a number from 1 to {limit} as {name}")))
            }
        };
        let width = number("hidden_size", MINI_LM.width, limits::MODEL_WIDTH)?;
        let heads = number("num_attention_heads", MINI_LM.heads, width)?;
        if width % heads != 0 {
            return Err(wrong(&format!("gives {heads} heads to {width} numbers, which they can't share")));
        }
        let epsilon = file.get("layer_norm_eps").and_then(Value::as_f64).unwrap_or(MINI_LM.epsilon);
        Ok(Self {
            layers: number("num_hidden_layers", MINI_LM.layers, limits::MODEL_LAYERS)?,
            heads,
            width,
            inner: number("intermediate_size", MINI_LM.inner, limits::MODEL_WIDTH)?,
            epsilon,
        })
    }

    /// Numbers of a token that belong to one head.
    fn head_width(&self) -> usize {
        self.width / self.heads
    }

    /// How much each token that `queries` has a row of attends to each of those of `keys`, in one head.
    fn head_attention(&self, head: usize, queries: &[f32], keys: &[f32]) -> Vec<f32> {
        let size = self.head_width();
        let first = head * size;
        let count = keys.len() / self.width;
        let own: Vec<f32> =
            queries.chunks_exact(self.width).flat_map(|query| &query[first..first + size]).copied().collect();
        let keys = Panels::new(size, count, |number, token| keys[token * self.width + first + number]);
        let mut attention = keys.multiply(&own);
        let scale = 1.0 / (size as f32).sqrt();
        for row in attention.chunks_exact_mut(count) {
            shares(row, scale);
        }
        attention
    }
}

/// Makes the exponentials of a row's numbers shares of their sum. The highest is taken off before, which changes no
/// share, so that none is infinite.
fn shares(row: &mut [f32], scale: f32) {
    let highest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for value in row.iter_mut() {
        *value = ((*value - highest) * scale).exp();
        sum += *value;
    }
    for value in row {
        *value /= sum;
    }
}

fn add(to: &mut [f32], what: &[f32]) {
    for (to, what) in to.iter_mut().zip(what) {
        *to += what;
    }
}

/// A matrix and what is added to its products.
struct Linear {
    panels: Panels,
    bias: Vec<f32>,
}

impl Linear {
    fn take(weights: &mut ModelWeights, name: &str, from: usize, to: usize) -> Result<Self, EncodingError> {
        let values = weights.take(&format!("{name}.weight"), &[to, from])?;
        let bias = weights.take(&format!("{name}.bias"), &[to])?;
        Ok(Self { panels: Panels::new(from, to, |row, column| values[column * from + row]), bias })
    }

    fn apply(&self, rows: &[f32]) -> Vec<f32> {
        let mut product = self.panels.multiply(rows);
        for row in product.chunks_exact_mut(self.bias.len()) {
            add(row, &self.bias);
        }
        product
    }
}

/// Brings each row to a mean of 0 and a variance of 1, then to what the model learnt.
struct Norm {
    scale: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f64,
}

impl Norm {
    fn take(weights: &mut ModelWeights, name: &str, shape: ModelShape) -> Result<Self, EncodingError> {
        Ok(Self {
            scale: weights.take(&format!("{name}.weight"), &[shape.width])?,
            bias: weights.take(&format!("{name}.bias"), &[shape.width])?,
            epsilon: shape.epsilon,
        })
    }

    fn apply(&self, rows: &mut [f32]) {
        let width = self.scale.len();
        for row in rows.chunks_exact_mut(width) {
            let mean = row.iter().copied().map(f64::from).sum::<f64>() / width as f64;
            let squares = row.iter().map(|&value| (f64::from(value) - mean).powi(2)).sum::<f64>();
            let (mean, factor) = (mean as f32, (squares / width as f64 + self.epsilon).sqrt().recip() as f32);
            for ((value, scale), bias) in row.iter_mut().zip(&self.scale).zip(&self.bias) {
                *value = (*value - mean) * factor * scale + bias;
            }
        }
    }
}

/// What tokens are asked for, and with.
struct Attention {
    query: Linear,
    key: Linear,
}

impl Attention {
    fn take(weights: &mut ModelWeights, layer: usize, shape: ModelShape) -> Result<Self, EncodingError> {
        let mut part = |name: &str| {
            let name = format!("encoder.layer.{layer}.attention.self.{name}");
            Linear::take(weights, &name, shape.width, shape.width)
        };
        Ok(Self { query: part("query")?, key: part("key")? })
    }
}

struct Layer {
    attention: Attention,
    value: Linear,
    attended: Linear,
    attended_norm: Norm,
    widen: Linear,
    narrow: Linear,
    norm: Norm,
}

impl Layer {
    fn take(weights: &mut ModelWeights, layer: usize, shape: ModelShape) -> Result<Self, EncodingError> {
        let ModelShape { width, inner, .. } = shape;
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        Ok(Self {
            attention: Attention::take(weights, layer, shape)?,
            value: Linear::take(weights, &name("attention.self.value"), width, width)?,
            attended: Linear::take(weights, &name("attention.output.dense"), width, width)?,
            attended_norm: Norm::take(weights, &name("attention.output.LayerNorm"), shape)?,
            widen: Linear::take(weights, &name("intermediate.dense"), width, inner)?,
            narrow: Linear::take(weights, &name("output.dense"), inner, width)?,
            norm: Norm::take(weights, &name("output.LayerNorm"), shape)?,
        })
    }

    fn apply(&self, rows: Vec<f32>, shape: ModelShape) -> Vec<f32> {
        let mut attended = self.attended.apply(&self.contexts(&rows, shape));
        add(&mut attended, &rows);
        self.attended_norm.apply(&mut attended);

        let mut inner = self.widen.apply(&attended);
        for value in &mut inner {
            *value = gelu(*value);
        }
        let mut rows = self.narrow.apply(&inner);
        add(&mut rows, &attended);
        self.norm.apply(&mut rows);
        rows
    }

    /// The values of all tokens, for each token as much of each as it attends to.
    fn contexts(&self, rows: &[f32], shape: ModelShape) -> Vec<f32> {
        let (queries, keys) = (self.attention.query.apply(rows), self.attention.key.apply(rows));
        let values = self.value.apply(rows);
        let (width, size) = (shape.width, shape.head_width());
        let mut contexts = vec![0.0; rows.len()];
        for head in 0..shape.heads {
            let first = head * size;
            let attention = shape.head_attention(head, &queries, &keys);
            let values =
                Panels::new(rows.len() / width, size, |token, number| values[token * width + first + number]);
            let own = values.multiply(&attention);
            for (context, own) in contexts.chunks_exact_mut(width).zip(own.chunks_exact(size)) {
                context[first..first + size].copy_from_slice(own);
            }
        }
        contexts
    }
}

/// The Gaussian error linear unit, `x/2 (1 + erf(x/√2))`.
fn gelu(value: f32) -> f32 {
    0.5 * value * (1.0 + error_function(value * std::f32::consts::FRAC_1_SQRT_2))
}

/// Formula 7.1.26 of Abramowitz and Stegun, *Handbook of Mathematical Functions*, which is off by 1.5e-7 at most: as much
/// as `f32` leaves of it beside 1.
fn error_function(value: f32) -> f32 {
    const FACTORS: [f32; 5] = [1.061_405_4, -1.453_152, 1.421_413_7, -0.284_496_74, 0.254_829_6];
    let size = value.abs();
    let part = 1.0 / (1.0 + 0.327_591_1 * size);
    let sum = FACTORS.iter().fold(0.0, |sum, factor| (sum + factor) * part);
    (1.0 - sum * (-size * size).exp()).copysign(value)
}

#[cfg(test)]
mod tests {
    use super::error_function;

    #[test]
    fn the_error_function_is_that_of_the_tables() {
        // Table 7.1 of the same book.
        for (value, expected) in [
            (0.0, 0.0),
            (0.1, 0.112_462_916),
            (0.5, 0.520_499_9),
            (1.0, 0.842_700_8),
            (2.0, 0.995_322_3),
            (6.0, 1.0),
        ] {
            assert!((error_function(value) - expected).abs() < 3e-7, "{value}");
            assert!((error_function(-value) + expected).abs() < 3e-7, "-{value}");
        }
    }
}
