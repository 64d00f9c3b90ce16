// SPDX-License-Identifier: MIT
//
// The list of recipe keys.

#include "barlow/train/recipe.h"
#include "train/field_list.h"

namespace barlow::train {
namespace {

constexpr double kMaxCount = 1e15;
constexpr double kMaxPixels = 16384;  // as data::validate
constexpr double kTiny = 1e-12;
constexpr Range kProbability{0, 1};
constexpr Range kStrength{0, 100};  // of jitter and blur, as data::validate
constexpr Range kNotNegative{0};
constexpr Range kPositive{kTiny};

void add_run(FieldList& fields) {
  fields.group("Run");
  fields.integer(
      "epochs",
      {1, kMaxCount},
      "passes over the data",
      [](auto& r) -> auto& { return r.epochs; });
  fields.integer(
      "batch_size",
      {2, kMaxCount},
      "images in the global batch",
      [](auto& r) -> auto& { return r.batch_size; });
  fields.integer(
      "micro_batch",
      {0, kMaxCount},
      "images a rank passes through the network at a time; the loss and its "
      "gradient stay those of the global batch, for one forward pass more; 0: "
      "all at once",
      [](auto& r) -> auto& { return r.micro_batch; });
  fields.integer(
      "seed",
      {0, 9.2e18},
      "decides weights, order and augmentation",
      [](auto& r) -> auto& { return r.seed; });
  fields.choice<Precision>(
      "precision",
      {{"float32", Precision::kFloat32}, {"bfloat16", Precision::kBFloat16}},
      "of activations; bfloat16 is autocast, weights and loss stay float32",
      [](auto& r) -> auto& { return r.precision; });
}

void add_machine(FieldList& fields) {
  fields.group("Machine and housekeeping (may change when a run continues)");
  fields.on_resume(OnResume::kMayDiffer);
  fields.text(
      "device",
      "auto, cpu, cuda or cuda:N",
      "where the model trains; auto is cuda where there is one",
      [](auto& r) -> auto& { return r.device; });
  fields.integer(
      "threads",
      {0, 4096},
      "threads of tensor operations; 0: the cores this process may use",
      [](auto& r) -> auto& { return r.threads; });
  fields.integer(
      "workers",
      {0, 1024},
      "threads that decode and augment; 0: in the training thread",
      [](auto& r) -> auto& { return r.workers; });
  fields.integer(
      "queue_batches",
      {1, 4096},
      "batches prepared ahead of training",
      [](auto& r) -> auto& { return r.queue_batches; });
  fields.integer(
      "checkpoint_every_steps",
      {0, kMaxCount},
      "steps between checkpoints; 0: once an epoch",
      [](auto& r) -> auto& { return r.checkpoint_every_steps; });
  fields.integer(
      "keep_checkpoints",
      {1, kMaxCount},
      "how many of the newest checkpoints stay",
      [](auto& r) -> auto& { return r.keep_checkpoints; });
  fields.integer(
      "log_every_steps",
      {1, kMaxCount},
      "steps between lines of metrics.jsonl",
      [](auto& r) -> auto& { return r.log_every_steps; });
  fields.on_resume(OnResume::kMustMatch);
}

void add_data(FieldList& fields) {
  fields.group("Data");
  fields.integer(
      "channels",
      {1, 3},
      "1: grey, 3: colour; images are converted",
      [](auto& r) -> auto& { return r.channels; });
  fields.choice<data::OnPartialBatch>(
      "partial_batch",
      {{"drop", data::OnPartialBatch::kDrop},
       {"keep", data::OnPartialBatch::kKeep}},
      "an epoch's last, smaller batch",
      [](auto& r) -> auto& { return r.partial_batch; });
  fields.triple(
      "mean",
      {-10, 10},
      "subtracted from each channel (of [0, 1]); grey uses the first",
      [](auto& r) -> auto& { return r.normalization.mean; });
  fields.triple(
      "std",
      {1e-6, 10},
      "each channel is divided by it; grey uses the first",
      [](auto& r) -> auto& { return r.normalization.stddev; });
  fields.integer(
      "eval_resize",
      {1, kMaxPixels},
      "shortest side before the centre crop of evaluation, px",
      [](auto& r) -> auto& { return r.eval_resize; });
  fields.integer(
      "eval_crop",
      {1, kMaxPixels},
      "side of the centre crop of evaluation, px",
      [](auto& r) -> auto& { return r.eval_crop; });
}

// `view` selects recipe.view_a or recipe.view_b.
template <class View>
void add_view_geometry(FieldList& fields, const std::string& name, View view) {
  const auto real =
      [&](const char* key, Range range, const char* help, auto member) {
        fields.real(
            name + key,
            range,
            help,
            [ view, member ](auto& r) -> auto& { return view(r).*member; });
      };
  using Options = data::ViewOptions;
  fields.integer(
      name + "size",
      {1, kMaxPixels},
      "side of the view, px",
      [view](auto& r) -> auto& { return view(r).size; });
  real(
      "min_area",
      {kTiny, 1},
      "smallest crop, share of the image",
      &Options::min_area);
  real(
      "max_area",
      {kTiny, 1},
      "largest crop, share of the image",
      &Options::max_area);
  real(
      "min_aspect",
      {kTiny, 1000},
      "narrowest crop, width / height",
      &Options::min_aspect);
  real(
      "max_aspect",
      {kTiny, 1000},
      "widest crop, width / height",
      &Options::max_aspect);
  fields.choice<data::CropGrid>(
      name + "crop_grid",
      {{"pixels", data::CropGrid::kPixels},
       {"fractional", data::CropGrid::kFractional}},
      "where a crop's edges may lie: between pixels, or anywhere",
      [view](auto& r) -> auto& { return view(r).crop_grid; });
  fields.choice<data::Interpolation>(
      name + "interpolation",
      {{"bicubic", data::Interpolation::kBicubic},
       {"bilinear", data::Interpolation::kBilinear}},
      "how the crop is resized; both antialiased",
      [view](auto& r) -> auto& { return view(r).interpolation; });
  real(
      "flip_probability",
      kProbability,
      "mirror left and right",
      &Options::flip_probability);
}

template <class View>
void add_view_colour(FieldList& fields, const std::string& name, View view) {
  const auto real =
      [&](const char* key, Range range, const char* help, auto member) {
        fields.real(
            name + key,
            range,
            help,
            [ view, member ](auto& r) -> auto& { return view(r).*member; });
      };
  using Options = data::ViewOptions;
  real(
      "jitter_probability",
      kProbability,
      "colour jitter",
      &Options::jitter_probability);
  real("brightness", kStrength, "factor in 1 +- this", &Options::brightness);
  real("contrast", kStrength, "factor in 1 +- this", &Options::contrast);
  real("saturation", kStrength, "factor in 1 +- this", &Options::saturation);
  real("hue", {0, 0.5}, "shift in +- this, in turns", &Options::hue);
  real("grey_probability", kProbability, "to grey", &Options::grey_probability);
  real(
      "blur_probability",
      kProbability,
      "Gaussian blur",
      &Options::blur_probability);
  real("blur_min_sigma", kStrength, "px", &Options::blur_min_sigma);
  real("blur_max_sigma", kStrength, "px", &Options::blur_max_sigma);
  real(
      "solarize_probability",
      kProbability,
      "invert what is bright",
      &Options::solarize_probability);
  fields.integer(
      name + "solarize_threshold",
      {0, 256},
      "levels from this on are inverted",
      [view](auto& r) -> auto& { return view(r).solarize_threshold; });
}

template <class View>
void add_view(FieldList& fields, const std::string& name, View view) {
  add_view_geometry(fields, name, view);
  add_view_colour(fields, name, view);
}

void add_model(FieldList& fields) {
  fields.group("Model");
  fields.text(
      "architecture",
      "resnet18, resnet34, resnet50, resnet101 or resnet152",
      "the encoder",
      [](auto& r) -> auto& { return r.backbone.architecture; });
  fields.choice<model::Stem>(
      "stem",
      {{"imagenet", model::Stem::kImageNet},
       {"small", model::Stem::kSmall},
       {"small-stride2", model::Stem::kSmallStride2}},
      "imagenet: 7x7 stride 2 and max-pool; small: 3x3 stride 1",
      [](auto& r) -> auto& { return r.backbone.stem; });
  fields.text(
      "blocks",
      "blocks in each stage such as 1-1-1",
      "a shorter or longer encoder; empty: as the architecture",
      [](auto& r) -> auto& { return r.blocks; });
  fields.real(
      "width_factor",
      {1.0 / 64, 64},
      "multiplies the encoder's channels",
      [](auto& r) -> auto& { return r.backbone.width_factor; });
  fields.flag(
      "zero_init_residual",
      "start each residual block as the identity",
      [](auto& r) -> auto& { return r.backbone.zero_init_residual; });
  fields.text(
      "projector",
      "sizes such as 8192-8192-8192",
      "layers after the encoder; the last is the embedding size D",
      [](auto& r) -> auto& { return r.projector; });
}

void add_loss(FieldList& fields) {
  fields.group("Loss");
  fields.real(
      "lambda",
      kNotNegative,
      "weight of the redundancy term",
      [](auto& r) -> auto& { return r.loss.lambda; });
  fields.real(
      "loss_scale",
      kPositive,
      "multiplies the gradient; logs show the loss without it",
      [](auto& r) -> auto& { return r.loss_scale; });
  fields.real(
      "variance_epsilon",
      kPositive,
      "added to each feature's variance",
      [](auto& r) -> auto& { return r.loss.variance_epsilon; });
  fields.choice<LossPath>(
      "loss_path",
      {{"auto", LossPath::kAuto},
       {"feature", LossPath::kFeatureSpace},
       {"sample", LossPath::kSampleSpace}},
      "the two exact ways to the same loss; auto takes the cheaper",
      [](auto& r) -> auto& { return r.loss.path; });
  fields.choice<torch::ScalarType>(
      "loss_products",
      {{"float32", torch::kFloat32}, {"bfloat16", torch::kBFloat16}},
      "what the loss's matrix products round their factors to",
      [](auto& r) -> auto& { return r.loss.product_type; });
  fields.choice<Correlation>(
      "correlation",
      {{"global", Correlation::kGlobal}, {"per-rank", Correlation::kPerRank}},
      "over the rows of all ranks (the method), or of each and averaged",
      [](auto& r) -> auto& { return r.correlation; });
  fields.integer(
      "emulate_world_size",
      {1, 1e6},
      "divides gradients, as a published run on that many devices did",
      [](auto& r) -> auto& { return r.loss.emulate_world_size; });
}

void add_optimizer(FieldList& fields) {
  fields.group("Optimiser");
  fields.choice<OptimizerKind>(
      "optimizer",
      {{"lars", OptimizerKind::kLars},
       {"lars-clipped", OptimizerKind::kClippedLars},
       {"sgd", OptimizerKind::kSgd},
       {"adamw", OptimizerKind::kAdamW}},
      "lars as the authors'; lars-clipped as CIFAR recipes use it",
      [](auto& r) -> auto& { return r.optimizer; });
  fields.real(
      "learning_rate_weights",
      kNotNegative,
      "of weights, per learning_rate_batch images of the batch",
      [](auto& r) -> auto& { return r.learning_rate_weights; });
  fields.real(
      "learning_rate_biases",
      kNotNegative,
      "of biases and norms, likewise",
      [](auto& r) -> auto& { return r.learning_rate_biases; });
  fields.integer(
      "learning_rate_batch",
      {0, kMaxCount},
      "rates grow with batch_size / this; 0: they are as given",
      [](auto& r) -> auto& { return r.learning_rate_batch; });
  fields.real(
      "weight_decay",
      kNotNegative,
      "of weights",
      [](auto& r) -> auto& { return r.weight_decay; });
  fields.real(
      "momentum",
      {0, 1, UpperEnd::kOpen},
      "of lars, lars-clipped and sgd",
      [](auto& r) -> auto& { return r.momentum; });
  fields.real(
      "trust_coefficient",
      kPositive,
      "eta of lars and lars-clipped",
      [](auto& r) -> auto& { return r.trust_coefficient; });
  fields.real(
      "warmup_epochs",
      kNotNegative,
      "linear rise before the cosine",
      [](auto& r) -> auto& { return r.warmup_epochs; });
}

std::vector<RecipeField> build() {
  FieldList fields;
  add_run(fields);
  add_model(fields);
  add_loss(fields);
  add_optimizer(fields);
  add_data(fields);
  add_machine(fields);
  fields.group("First view");
  add_view(
      fields,
      "view_a.",
      [](auto& r) -> auto& { return r.view_a; });
  fields.group("Second view");
  add_view(
      fields,
      "view_b.",
      [](auto& r) -> auto& { return r.view_b; });
  return fields.take();
}

}  // namespace

// The authors' second view: blur for one image in ten, solarise for two.
Recipe::Recipe() {
  view_b.blur_probability = 0.1;
  view_b.solarize_probability = 0.2;
  loss.lambda = 0.0051;
}

const std::vector<RecipeField>& recipe_fields() {
  static const std::vector<RecipeField> fields = build();
  return fields;
}

}  // namespace barlow::train
