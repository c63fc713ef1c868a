# AOT ID: ['0_forward']
from ctypes import c_void_p, c_long, c_int
import torch
import math
import random
import os
import tempfile
from math import inf, nan
from cmath import nanj
from torch._inductor.hooks import run_intermediate_hooks
from torch._inductor.utils import maybe_profile
from torch._inductor.codegen.memory_planning import _align as align
from torch import device, empty_strided
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.select_algorithm import extern_kernels

aten = torch.ops.aten
inductor_ops = torch.ops.inductor
_quantized = torch.ops._quantized
assert_size_stride = torch._C._dynamo.guards.assert_size_stride
assert_alignment = torch._C._dynamo.guards.assert_alignment
empty_strided_cpu = torch._C._dynamo.guards._empty_strided_cpu
empty_strided_cpu_pinned = torch._C._dynamo.guards._empty_strided_cpu_pinned
empty_strided_cuda = torch._C._dynamo.guards._empty_strided_cuda
empty_strided_xpu = torch._C._dynamo.guards._empty_strided_xpu
empty_strided_mtia = torch._C._dynamo.guards._empty_strided_mtia
reinterpret_tensor = torch._C._dynamo.guards._reinterpret_tensor
alloc_from_pool = torch.ops.inductor._alloc_from_pool
async_compile = AsyncCompile()
empty_strided_p2p = torch._C._distributed_c10d._SymmetricMemory.empty_strided_p2p


cpp_fused_add_mul_permute_sum_view_0 = async_compile.cpp_pybinding(['double*', 'const double*', 'const double*'], r'''
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  kernel(double* in_out_ptr0,
                       const double* in_ptr0,
                       const double* in_ptr1)
{
    std::atomic<int> inductor_cpu_integer_div_error{0};
    inductor_cpu_integer_div_error_flag = &inductor_cpu_integer_div_error;
    auto out_ptr0 = in_out_ptr0;
    {
        {
            double tmp_acc0 = 0;
            at::vec::VectorizedN<double,2> tmp_acc0_vec = at::vec::VectorizedN<double,2>(0);
            for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(800L); x0+=static_cast<int64_t>(16L))
            {
                for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(500L); x1+=static_cast<int64_t>(16L))
                {
                    {
                        if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(800L) && x1 >= static_cast<int64_t>(0) && x1 < static_cast<int64_t>(496L)))
                        {
                            alignas(std::max(std::size_t(16), alignof(double))) double tmp0[16*16];
                            transpose_mxn<double,static_cast<int64_t>(16),static_cast<int64_t>(16),false>(in_ptr0 + static_cast<int64_t>(x1 + 500L*x0), static_cast<int64_t>(500L), tmp0, static_cast<int64_t>(16));
                            for (long x1_inner = 0; x1_inner < static_cast<int64_t>(16); x1_inner++)
                            {
                                auto tmp1 = at::vec::VectorizedN<double,2>::loadu(tmp0 + static_cast<int64_t>(16L*x1_inner), static_cast<int64_t>(16));
                                auto tmp2 = at::vec::VectorizedN<double,2>::loadu(in_ptr1 + static_cast<int64_t>(x0 + 800L*x1 + 800L*x1_inner), static_cast<int64_t>(16));
                                auto tmp3 = tmp1 * tmp2;
                                tmp_acc0_vec = tmp_acc0_vec + tmp3;
                            }
                        }
                        if(C10_UNLIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(800L) && x1 >= static_cast<int64_t>(496L) && x1 < static_cast<int64_t>(500L)))
                        {
                            alignas(std::max(std::size_t(16), alignof(double))) double tmp0[16*16];
                            transpose_mxn<double,static_cast<int64_t>(16),static_cast<int64_t>(4L),false>(in_ptr0 + static_cast<int64_t>(x1 + 500L*x0), static_cast<int64_t>(500L), tmp0, static_cast<int64_t>(16));
                            for (long x1_inner = 0; x1_inner < static_cast<int64_t>(4L); x1_inner++)
                            {
                                auto tmp1 = at::vec::VectorizedN<double,2>::loadu(tmp0 + static_cast<int64_t>(16L*x1_inner), static_cast<int64_t>(16));
                                auto tmp2 = at::vec::VectorizedN<double,2>::loadu(in_ptr1 + static_cast<int64_t>(x0 + 800L*x1 + 800L*x1_inner), static_cast<int64_t>(16));
                                auto tmp3 = tmp1 * tmp2;
                                tmp_acc0_vec = tmp_acc0_vec + tmp3;
                            }
                        }
                    }
                }
            }
            tmp_acc0 = tmp_acc0 + at::vec::vec_reduce_all<double, 2>([](at::vec::Vectorized<double>& x, at::vec::Vectorized<double>& y) { return x + y; }, tmp_acc0_vec);
            out_ptr0[static_cast<int64_t>(0L)] = static_cast<double>(tmp_acc0);
        }
    }
    {
        {
            {
                auto tmp0 = out_ptr0[static_cast<int64_t>(0L)];
                auto tmp1 = static_cast<double>(0.0);
                auto tmp2 = double(tmp0 + tmp1);
                in_out_ptr0[static_cast<int64_t>(0L)] = tmp2;
            }
        }
    }
    inductor_cpu_integer_div_error_flag = nullptr;
    inductor_cpu_throw_if_integer_div_error(inductor_cpu_integer_div_error);
}
''')


async_compile.wait(globals())
del async_compile

class Runner:
    def __init__(self, partitions):
        self.partitions = partitions

    def recursively_apply_fns(self, fns):
        new_callables = []
        for fn, c in zip(fns, self.partitions):
            new_callables.append(fn(c))
        self.partitions = new_callables

    def call(self, args):
        primals_1, primals_2, primals_3 = args
        args.clear()
        assert_size_stride(primals_1, (20, 30, 500), (15000, 500, 1), 'input')
        assert_size_stride(primals_2, (500, 40, 30), (1200, 30, 1), 'input')
        buf0 = empty_strided_cpu((500, 20, 40), (800, 40, 1), torch.float64)
        # Topologically Sorted Source Nodes: [einsum], Original ATen: [aten.unsqueeze, aten.permute, aten.view, aten.bmm]
        extern_kernels.bmm(reinterpret_tensor(primals_1, (500, 20, 30), (1, 15000, 500), 0), reinterpret_tensor(primals_2, (500, 30, 40), (1200, 1, 30), 0), out=buf0)
        assert_size_stride(primals_3, (20, 40, 500), (20000, 500, 1), 'input')
        buf1 = empty_strided_cpu((), (), torch.float64)
        buf2 = buf1; del buf1  # reuse
        cpp_fused_add_mul_permute_sum_view_0(buf2, primals_3, buf0)
        return (buf2, primals_3, reinterpret_tensor(primals_1, (500, 30, 20), (1, 500, 15000), 0), primals_2, )

runner = Runner(partitions=[])
call = runner.call
recursively_apply_fns = runner.recursively_apply_fns


def get_args():
    from torch._dynamo.testing import rand_strided
    primals_1 = rand_strided((20, 30, 500), (15000, 500, 1), device='cpu', dtype=torch.float64)
    primals_2 = rand_strided((500, 40, 30), (1200, 30, 1), device='cpu', dtype=torch.float64)
    primals_3 = rand_strided((20, 40, 500), (20000, 500, 1), device='cpu', dtype=torch.float64)
    return [primals_1, primals_2, primals_3]


def benchmark_compiled_module(args, times=10, repeat=10):
    from torch._inductor.utils import print_performance
    fn = lambda: call(list(args))
    return print_performance(fn, times=times, repeat=repeat, device='cpu')


if __name__ == "__main__":
    from torch._inductor.wrapper_benchmark import compiled_module_main
    args = get_args()
    compiled_module_main('None', lambda times, repeat: benchmark_compiled_module(args, times=times, repeat=repeat))
