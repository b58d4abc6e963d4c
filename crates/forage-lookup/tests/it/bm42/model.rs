//! A small model of random weights: its files, and what it must give, computed as the formulas are written, in `f64`.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

/// The pieces of the test's vocabulary, by token.
pub(crate) const PIECES: [&str; 40] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "play", "##ing", "##er", "##s", "un", "##see",
    "##n", "seen", "cafe", ".", "_", "[", "]", "变", "量", "user", "name", "get", "a", "##a", "—", "strasse",
    "##ß", "stra", "##e", "οδοσ", "i", "##o", "1", "##2", "mask", "cls", "é", "zebra",
];

/// What a model is like.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) width: usize,
    pub(crate) inner: usize,
}

/// Sizes that fill neither the rows nor the columns that are multiplied at once.
pub(crate) const SMALL: Shape = Shape { layers: 3, heads: 3, width: 15, inner: 22 };

/// all-MiniLM-L6-v2's.
pub(super) const MINI_LM: Shape = Shape { layers: 6, heads: 12, width: 384, inner: 1536 };

/// Tensors by name.
pub(crate) type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// Numbers that look random and are the same every time.
struct Noise(u64);

impl Noise {
    /// From -1 to 1.
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

/// Random weights. Queries and keys are large, so that attention is far from even.
pub(crate) fn tensors(shape: Shape) -> Tensors {
    let Shape { layers, width, inner, .. } = shape;
    let mut noise = Noise(7);
    let mut tensors = Tensors::new();
    let mut put = |name: String, dimensions: &[usize], middle: f32, spread: f32| {
        let count = dimensions.iter().product();
        let values = (0..count).map(|_| middle + spread * noise.next()).collect();
        tensors.insert(name, (dimensions.to_vec(), values));
    };
    for (name, rows) in [("word", PIECES.len()), ("position", 256), ("token_type", 2)] {
        put(format!("embeddings.{name}_embeddings.weight"), &[rows, width], 0.0, 1.0);
    }
    put("embeddings.LayerNorm.weight".into(), &[width], 1.0, 0.3);
    put("embeddings.LayerNorm.bias".into(), &[width], 0.0, 0.3);
    for layer in 0..layers {
        for (name, from, to, spread) in [
            ("attention.self.query", width, width, 1.5),
            ("attention.self.key", width, width, 1.5),
            ("attention.self.value", width, width, 1.0),
            ("attention.output.dense", width, width, 1.0),
            ("intermediate.dense", width, inner, 1.5),
            ("output.dense", inner, width, 1.0),
        ] {
            let spread = spread * (3.0 / from as f32).sqrt();
            put(format!("encoder.layer.{layer}.{name}.weight"), &[to, from], 0.0, spread);
            put(format!("encoder.layer.{layer}.{name}.bias"), &[to], 0.0, 0.3);
        }
        for name in ["attention.output.LayerNorm", "output.LayerNorm"] {
            put(format!("encoder.layer.{layer}.{name}.weight"), &[width], 1.0, 0.3);
            put(format!("encoder.layer.{layer}.{name}.bias"), &[width], 0.0, 0.3);
        }
    }
    tensors
}

/// The header of a safetensors file, and its numbers.
pub(super) fn safetensors(tensors: &Tensors) -> (Value, Vec<u8>) {
    let mut header = json!({"__metadata__": {"format": "pt"}});
    let mut data = Vec::new();
    for (name, (shape, values)) in tensors {
        let start = data.len();
        data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        header[name] = json!({"dtype": "F32", "shape": shape, "data_offsets": [start, data.len()]});
    }
    (header, data)
}

/// The file of a header and numbers.
pub(super) fn file(header: &Value, data: &[u8]) -> Vec<u8> {
    let header = header.to_string();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

/// A directory with vocabulary, configuration and weights.
pub(crate) fn write(directory: &Path, shape: Shape, tensors: &Tensors) {
    let (header, data) = safetensors(tensors);
    std::fs::write(directory.join("model.safetensors"), file(&header, &data)).unwrap();
    std::fs::write(directory.join("config.json"), configuration(shape).to_string()).unwrap();
    write_vocabulary(directory);
}

pub(super) fn configuration(shape: Shape) -> Value {
    json!({
        "model_type": "bert", "hidden_act": "gelu", "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads, "hidden_size": shape.width, "intermediate_size": shape.inner,
    })
}

pub(super) fn write_vocabulary(directory: &Path) {
    std::fs::write(directory.join("vocab.txt"), PIECES.join("\n") + "\n").unwrap();
}

/// How much the first of the tokens attends to each in the last layer, on average over the heads.
pub(super) fn attention(shape: Shape, tensors: &Tensors, tokens: &[&str]) -> Vec<f64> {
    let model = Reference { shape, tensors };
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        let token = PIECES.iter().position(|piece| piece == token).unwrap();
        let part = |name: &str, row: usize| model.row(&format!("embeddings.{name}_embeddings.weight"), row);
        let (word, place, kind) = (part("word", token), part("position", place), part("token_type", 0));
        rows.push((0..shape.width).map(|at| word[at] + place[at] + kind[at]).collect());
    }
    rows = model.normed("embeddings.LayerNorm", &rows);
    for layer in 0..shape.layers - 1 {
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        let attention = model.heads(layer, &rows);
        let values = model.linear(&name("attention.self.value"), &rows);
        let size = shape.width / shape.heads;
        let context = |row: usize, at: usize| -> f64 {
            (0..rows.len()).map(|other| attention[at / size][row][other] * values[other][at]).sum()
        };
        let contexts: Vec<Vec<f64>> =
            (0..rows.len()).map(|row| (0..shape.width).map(|at| context(row, at)).collect()).collect();
        let attended = sum(&model.linear(&name("attention.output.dense"), &contexts), &rows);
        let attended = model.normed(&name("attention.output.LayerNorm"), &attended);
        let mut inner = model.linear(&name("intermediate.dense"), &attended);
        for value in inner.iter_mut().flatten() {
            *value *= 0.5 * (1.0 + error_function(*value / 2f64.sqrt()));
        }
        rows = sum(&model.linear(&name("output.dense"), &inner), &attended);
        rows = model.normed(&name("output.LayerNorm"), &rows);
    }
    let attention = model.heads(shape.layers - 1, &rows);
    (0..rows.len())
        .map(|token| attention.iter().map(|head| head[0][token]).sum::<f64>() / shape.heads as f64)
        .collect()
}

struct Reference<'a> {
    shape: Shape,
    tensors: &'a Tensors,
}

impl Reference<'_> {
    fn row(&self, name: &str, row: usize) -> Vec<f64> {
        let (shape, values) = &self.tensors[name];
        let width = shape.last().unwrap();
        values[row * width..(row + 1) * width].iter().map(|&value| f64::from(value)).collect()
    }

    fn linear(&self, name: &str, rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let weights = format!("{name}.weight");
        let columns: Vec<_> =
            (0..self.tensors[&weights].0[0]).map(|column| self.row(&weights, column)).collect();
        let bias = self.row(&format!("{name}.bias"), 0);
        let value = |row: &Vec<f64>, column: usize| dot(row, &columns[column]) + bias[column];
        rows.iter().map(|row| (0..columns.len()).map(|column| value(row, column)).collect()).collect()
    }

    fn normed(&self, name: &str, rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let (scale, bias) = (self.row(&format!("{name}.weight"), 0), self.row(&format!("{name}.bias"), 0));
        let norm = |row: &Vec<f64>| {
            let mean = row.iter().sum::<f64>() / row.len() as f64;
            let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / row.len() as f64;
            let value = |at: usize| (row[at] - mean) / (variance + 1e-12).sqrt() * scale[at] + bias[at];
            (0..row.len()).map(value).collect()
        };
        rows.iter().map(norm).collect()
    }

    /// By head, by the token that attends, by the token attended to.
    fn heads(&self, layer: usize, rows: &[Vec<f64>]) -> Vec<Vec<Vec<f64>>> {
        let part = |name: &str| self.linear(&format!("encoder.layer.{layer}.attention.self.{name}"), rows);
        let (queries, keys) = (part("query"), part("key"));
        let size = self.shape.width / self.shape.heads;
        let row = |head: usize, query: &Vec<f64>| {
            let own = head * size..(head + 1) * size;
            let score =
                |key: &Vec<f64>| (dot(&query[own.clone()], &key[own.clone()]) / (size as f64).sqrt()).exp();
            let scores: Vec<f64> = keys.iter().map(score).collect();
            scores.iter().map(|score| score / scores.iter().sum::<f64>()).collect()
        };
        (0..self.shape.heads).map(|head| queries.iter().map(|query| row(head, query)).collect()).collect()
    }
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

fn sum(left: &[Vec<f64>], right: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let add = |(left, right): (&Vec<f64>, &Vec<f64>)| {
        left.iter().zip(right).map(|(left, right)| left + right).collect()
    };
    left.iter().zip(right).map(add).collect()
}

/// By its power series, which is exact enough where the function is not 1 anyhow.
fn error_function(value: f64) -> f64 {
    if value.abs() > 5.0 {
        return value.signum();
    }
    let (mut term, mut sum) = (value, value);
    for at in 1..200 {
        term *= -value * value / f64::from(at);
        sum += term / f64::from(2 * at + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}
