# AOT ID: ['0_backward']
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


cpp_fused_bmm_expand_mul_permute_view_0 = async_compile.cpp_pybinding(['const double*', 'const double*', 'double*', 'double*'], r'''
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  kernel(const double* in_ptr0,
                       const double* in_ptr1,
                       double* out_ptr0,
                       double* out_ptr1)
{
    std::atomic<int> inductor_cpu_integer_div_error{0};
    inductor_cpu_integer_div_error_flag = &inductor_cpu_integer_div_error;
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(500L); x0+=static_cast<int64_t>(16L))
        {
            for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(800L); x1+=static_cast<int64_t>(16L))
            {
                {
                    if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(496L) && x1 >= static_cast<int64_t>(0) && x1 < static_cast<int64_t>(800L)))
                    {
                        alignas(std::max(std::size_t(16), alignof(double))) double tmp1[16*16];
                        transpose_mxn<double,static_cast<int64_t>(16),static_cast<int64_t>(16),false>(in_ptr1 + static_cast<int64_t>(x0 + 500L*x1), static_cast<int64_t>(500L), tmp1, static_cast<int64_t>(16));
                        transpose_mxn<double,static_cast<int64_t>(16),static_cast<int64_t>(16),false>(in_ptr1 + static_cast<int64_t>(x0 + 500L*x1), static_cast<int64_t>(500L), tmp1, static_cast<int64_t>(16));
                        for (long x0_inner = 0; x0_inner < static_cast<int64_t>(16); x0_inner++)
                        {
                            auto tmp0 = in_ptr0[static_cast<int64_t>(0L)];
                            auto tmp2 = at::vec::VectorizedN<double,2>::loadu(tmp1 + static_cast<int64_t>(16L*x0_inner), static_cast<int64_t>(16));
                            auto tmp3 = at::vec::VectorizedN<double,2>(tmp0);
                            auto tmp4 = tmp3 * tmp2;
                            tmp4.store(out_ptr0 + static_cast<int64_t>(x1 + 800L*x0 + 800L*x0_inner), static_cast<int64_t>(16));
                            tmp4.store(out_ptr1 + static_cast<int64_t>(x1 + 800L*x0 + 800L*x0_inner), static_cast<int64_t>(16));
                        }
                    }
                    if(C10_UNLIKELY(x0 >= static_cast<int64_t>(496L) && x0 < static_cast<int64_t>(500L) && x1 >= static_cast<int64_t>(0) && x1 < static_cast<int64_t>(800L)))
                    {
                        alignas(std::max(std::size_t(16), alignof(double))) double tmp1[16*16];
                        transpose_mxn<double,static_cast<int64_t>(16),static_cast<int64_t>(4L),false>(in_ptr1 + static_cast<int64_t>(x0 + 500L*x1), static_cast<int64_t>(500L), tmp1, static_cast<int64_t>(16));
                        transpose_mxn<double,static_cast<int64_t>(16),static_cast<int64_t>(4L),false>(in_ptr1 + static_cast<int64_t>(x0 + 500L*x1), static_cast<int64_t>(500L), tmp1, static_cast<int64_t>(16));
                        for (long x0_inner = 0; x0_inner < static_cast<int64_t>(4L); x0_inner++)
                        {
                            auto tmp0 = in_ptr0[static_cast<int64_t>(0L)];
                            auto tmp2 = at::vec::VectorizedN<double,2>::loadu(tmp1 + static_cast<int64_t>(16L*x0_inner), static_cast<int64_t>(16));
                            auto tmp3 = at::vec::VectorizedN<double,2>(tmp0);
                            auto tmp4 = tmp3 * tmp2;
                            tmp4.store(out_ptr0 + static_cast<int64_t>(x1 + 800L*x0 + 800L*x0_inner), static_cast<int64_t>(16));
                            tmp4.store(out_ptr1 + static_cast<int64_t>(x1 + 800L*x0 + 800L*x0_inner), static_cast<int64_t>(16));
                        }
                    }
                }
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
        primals_3, permute_6, permute_7, tangents_1 = args
        args.clear()
        assert_size_stride(tangents_1, (), (), 'input')
        assert_size_stride(primals_3, (20, 40, 500), (20000, 500, 1), 'input')
        buf0 = empty_strided_cpu((500, 20, 40), (800, 40, 1), torch.float64)
        buf2 = empty_strided_cpu((500, 20, 40), (800, 40, 1), torch.float64)
        assert_size_stride(permute_7, (500, 40, 30), (1200, 30, 1), 'input')
        cpp_fused_bmm_expand_mul_permute_view_0(tangents_1, primals_3, buf0, buf2)
        del primals_3
        del tangents_1
        buf3 = empty_strided_cpu((500, 20, 30), (600, 30, 1), torch.float64)
        # Topologically Sorted Source Nodes: [expand, mul_1, view_4, permute_5, view_5, bmm_2], Original ATen: [aten.expand, aten.mul, aten.view, aten.permute, aten.bmm]
        extern_kernels.bmm(buf2, permute_7, out=buf3)
        del buf2
        del permute_7
        assert_size_stride(permute_6, (500, 30, 20), (1, 500, 15000), 'input')
        buf1 = empty_strided_cpu((500, 30, 40), (1200, 40, 1), torch.float64)
        # Topologically Sorted Source Nodes: [expand, mul_1, view_4, permute_5, view_5, bmm_1], Original ATen: [aten.expand, aten.mul, aten.view, aten.permute, aten.bmm]
        extern_kernels.bmm(permute_6, buf0, out=buf1)
        del buf0
        del permute_6
        return (reinterpret_tensor(buf3, (20, 30, 500), (30, 1, 600), 0), reinterpret_tensor(buf1, (500, 40, 30), (1200, 1, 40), 0), None, )

runner = Runner(partitions=[])
call = runner.call
recursively_apply_fns = runner.recursively_apply_fns


def get_args():
    from torch._dynamo.testing import rand_strided
    primals_3 = rand_strided((20, 40, 500), (20000, 500, 1), device='cpu', dtype=torch.float64)
    permute_6 = rand_strided((500, 30, 20), (1, 500, 15000), device='cpu', dtype=torch.float64)
    permute_7 = rand_strided((500, 40, 30), (1200, 30, 1), device='cpu', dtype=torch.float64)
    tangents_1 = rand_strided((), (), device='cpu', dtype=torch.float64)
    return [primals_3, permute_6, permute_7, tangents_1]


def benchmark_compiled_module(args, times=10, repeat=10):
    from torch._inductor.utils import print_performance
    fn = lambda: call(list(args))
    return print_performance(fn, times=times, repeat=repeat, device='cpu')


if __name__ == "__main__":
    from torch._inductor.wrapper_benchmark import compiled_module_main
    args = get_args()
    compiled_module_main('None', lambda times, repeat: benchmark_compiled_module(args, times=times, repeat=repeat))
