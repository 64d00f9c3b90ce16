// SPDX-License-Identifier: MIT
#include <iostream>

#include <torch/types.h>

#include "barlow/loss/barlow_twins_loss.h"

int main() {
  const torch::Tensor z_a = torch::randn({64, 128}).requires_grad_();
  const torch::Tensor z_b = z_a.detach() + 0.1 * torch::randn({64, 128});
  const auto loss = barlow::barlow_twins_loss(z_a, z_b, {.lambda = 0.0051});
  loss.total.backward();
  std::cout << "loss " << loss.total.item<double>() << " = invariance "
            << loss.invariance.item<double>() << " + 0.0051 x redundancy "
            << loss.redundancy.item<double>() << ", gradient norm "
            << z_a.grad().norm().item<double>() << std::endl;
}
