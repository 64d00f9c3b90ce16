// SPDX-License-Identifier: MIT
//
// One batch of 12 embeddings, cut among three ranks as 7 + 0 + 5: the same
// loss, and gradients whose mean over ranks is that of one process.
#include <iostream>

#include <torch/types.h>

#include "barlow/dist/connect.h"
#include "barlow/loss/barlow_twins_loss.h"

int main() {
  const torch::Tensor x_a = torch::randn({12, 6});
  const torch::Tensor x_b = x_a + 0.1 * torch::randn({12, 6});
  const torch::Tensor weight = torch::randn({6, 8});

  // One process: no group, no environment, no launcher.
  torch::Tensor w = weight.clone().requires_grad_();
  const auto alone = barlow::barlow_twins_loss(x_a.mm(w), x_b.mm(w));
  alone.total.backward();
  std::cout << "one process   loss " << alone.total.item<double>()
            << "  |gradient| " << w.grad().norm().item<double>() << std::endl;

  const std::int64_t first[] = {0, 7, 7, 12};
  barlow::dist::run_local_ranks(3, [&](const barlow::dist::ProcessGroup& g) {
    const auto own = [&](const torch::Tensor& all) {
      return all.slice(0, first[g.rank()], first[g.rank() + 1]);
    };
    torch::Tensor v = weight.clone().requires_grad_();
    const auto loss =
        barlow::barlow_twins_loss(own(x_a).mm(v), own(x_b).mm(v), {}, g);
    loss.total.backward();
    torch::Tensor mean = v.grad().clone();  // what data-parallel training does
    g.all_reduce_sum_(mean);
    mean /= g.size();
    if (g.rank() == 0) {
      std::cout << "three ranks   loss " << loss.total.item<double>()
                << "  |gradient| " << mean.norm().item<double>() << std::endl;
    }
  });
}
