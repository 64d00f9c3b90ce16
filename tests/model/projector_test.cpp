// SPDX-License-Identifier: MIT

#include "barlow/model/projector.h"

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "barlow/model/initialize.h"
#include "barlow/model/named_state.h"
#include "model/oracle_values.h"
#include "support/tensors.h"

namespace barlow::model {
namespace {

using Sizes = std::vector<std::int64_t>;

TEST(ParseProjector, ReadsTheAuthorsNotation) {
  EXPECT_EQ(parse_projector("8192-8192-8192"), (Sizes{8192, 8192, 8192}));
  EXPECT_EQ(parse_projector("128"), (Sizes{128}));
  EXPECT_EQ(parse_projector("1-1048576"), (Sizes{1, 1048576}));
}

std::string message_of(const std::string& text) {
  try {
    static_cast<void>(parse_projector(text));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(ParseProjector, NamesTheWrongPart) {
  EXPECT_EQ(
      message_of("512-x-512"),
      "projector '512-x-512': found 'x', expected integers in [1, 1048576] "
      "joined by '-', such as 8192-8192-8192");
  for (const char* text :
       {"",
        "-",
        "512-",
        "-512",
        "512--512",
        "0",
        "512-0",
        "+5",
        " 512",
        "512 ",
        "5.5",
        "0x10",
        "1048577",
        "99999999999999999999"}) {
    EXPECT_NE(message_of(text), "") << text;
  }
  std::string long_text = "2";
  for (int i = 0; i < 64; ++i) {
    long_text += "-2";
  }
  EXPECT_NE(message_of(long_text).find("65 layers"), std::string::npos);
}

TEST(Projector, EqualsThePythonSequential) {
  const NamedTensors oracle =
      test::read_oracle(BARLOW_ORACLE_DIR, "projector.safetensors");
  Projector exact(12, Sizes{24, 20, 32});
  test::expect_equals_oracle(
      exact,
      oracle,
      {torch::kFloat64, test::kFloat64Tolerance});
  Projector projector(12, Sizes{24, 20, 32});
  test::expect_equals_oracle(
      projector,
      oracle,
      {torch::kFloat32, test::kFloat32Tolerance});
}

TEST(Projector, OfOneLayerIsAMatrixProduct) {
  Projector projector(3, Sizes{5});
  initialize_parameters(*projector, 1);
  ASSERT_EQ(projector->parameters().size(), 1U);
  EXPECT_EQ(projector->embedding_dim(), 5);
  const torch::Tensor x = test::normal({2, 3}, 1).to(torch::kFloat32);
  const torch::Tensor weight = projector->named_parameters()["0.weight"];
  // Three terms of float32.
  EXPECT_LT(
      test::relative_error(projector->forward(x), x.mm(weight.t())),
      1e-6);
}

TEST(Projector, RefusesWrongShapes) {
  EXPECT_THROW(Projector(3, Sizes{}), c10::ValueError);
  EXPECT_THROW(Projector(3, Sizes{0}), c10::ValueError);
  Projector projector(3, Sizes{4, 5});
  EXPECT_THROW(projector->forward(torch::zeros({2, 4})), c10::ValueError);
  EXPECT_THROW(projector->forward(torch::zeros({3})), c10::ValueError);
  EXPECT_THROW(projector->forward(torch::zeros({1, 3})), c10::ValueError);
  projector->eval();
  EXPECT_NO_THROW(projector->forward(torch::zeros({1, 3})));
}

}  // namespace
}  // namespace barlow::model
