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


cpp_fused_arange_diag_embed_exp_full_index_put_pow_sub_sum_unsqueeze_0 = async_compile.cpp_pybinding(['const double*', 'const int64_t*', 'const int64_t*', 'const double*', 'const double*', 'const double*', 'int64_t*', 'int64_t*', 'int64_t*', 'int64_t*', 'int64_t*', 'int64_t*', 'int64_t*', 'int64_t*', 'int64_t*', 'int64_t*', 'int64_t*', 'int64_t*', 'int64_t*', 'int64_t*', 'int64_t*', 'int64_t*', 'int64_t*', 'int64_t*', 'double*', 'double*', 'double*', 'int64_t*', 'double*'], r'''
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  kernel(const double* in_ptr0,
                       const int64_t* in_ptr1,
                       const int64_t* in_ptr2,
                       const double* in_ptr3,
                       const double* in_ptr4,
                       const double* in_ptr5,
                       int64_t* out_ptr0,
                       int64_t* out_ptr1,
                       int64_t* out_ptr2,
                       int64_t* out_ptr3,
                       int64_t* out_ptr4,
                       int64_t* out_ptr5,
                       int64_t* out_ptr6,
                       int64_t* out_ptr7,
                       int64_t* out_ptr8,
                       int64_t* out_ptr9,
                       int64_t* out_ptr10,
                       int64_t* out_ptr11,
                       int64_t* out_ptr12,
                       int64_t* out_ptr13,
                       int64_t* out_ptr14,
                       int64_t* out_ptr15,
                       int64_t* out_ptr16,
                       int64_t* out_ptr17,
                       double* out_ptr18,
                       double* out_ptr19,
                       double* out_ptr20,
                       int64_t* out_ptr21,
                       double* out_ptr22)
{
    std::atomic<int> inductor_cpu_integer_div_error{0};
    inductor_cpu_integer_div_error_flag = &inductor_cpu_integer_div_error;
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(9L); x0+=static_cast<int64_t>(16L))
        {
            {
                if(C10_LIKELY(x0 >= static_cast<int64_t>(0L) && x0 < static_cast<int64_t>(9L)))
                {
                    auto tmp0 = 1L + x0;
                    auto tmp1 = c10::convert<int64_t>(tmp0);
                    auto tmp2 = at::vec::VectorizedN<int64_t,2>::arange(tmp1, 1);
                    tmp2.store(out_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(9L));
                }
            }
        }
    }
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(8L); x0+=static_cast<int64_t>(16L))
        {
            {
                if(C10_LIKELY(x0 >= static_cast<int64_t>(0L) && x0 < static_cast<int64_t>(8L)))
                {
                    auto tmp0 = 2L + x0;
                    auto tmp1 = c10::convert<int64_t>(tmp0);
                    auto tmp2 = at::vec::VectorizedN<int64_t,2>::arange(tmp1, 1);
                    tmp2.store(out_ptr1 + static_cast<int64_t>(x0), static_cast<int64_t>(8L));
                }
            }
        }
    }
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(7L); x0+=static_cast<int64_t>(16L))
        {
            {
                if(C10_LIKELY(x0 >= static_cast<int64_t>(0L) && x0 < static_cast<int64_t>(7L)))
                {
                    auto tmp0 = 3L + x0;
                    auto tmp1 = c10::convert<int64_t>(tmp0);
                    auto tmp2 = at::vec::VectorizedN<int64_t,2>::arange(tmp1, 1);
                    tmp2.store(out_ptr2 + static_cast<int64_t>(x0), static_cast<int64_t>(7L));
                }
            }
        }
    }
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(6L); x0+=static_cast<int64_t>(16L))
        {
            {
                if(C10_LIKELY(x0 >= static_cast<int64_t>(0L) && x0 < static_cast<int64_t>(6L)))
                {
                    auto tmp0 = 4L + x0;
                    auto tmp1 = c10::convert<int64_t>(tmp0);
                    auto tmp2 = at::vec::VectorizedN<int64_t,2>::arange(tmp1, 1);
                    tmp2.store(out_ptr3 + static_cast<int64_t>(x0), static_cast<int64_t>(6L));
                }
            }
        }
    }
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(5L); x0+=static_cast<int64_t>(16L))
        {
            {
                if(C10_LIKELY(x0 >= static_cast<int64_t>(0L) && x0 < static_cast<int64_t>(5L)))
                {
                    auto tmp0 = 5L + x0;
                    auto tmp1 = c10::convert<int64_t>(tmp0);
                    auto tmp2 = at::vec::VectorizedN<int64_t,2>::arange(tmp1, 1);
                    tmp2.store(out_ptr4 + static_cast<int64_t>(x0), static_cast<int64_t>(5L));
                }
            }
        }
    }
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(4L); x0+=static_cast<int64_t>(16L))
        {
            {
                if(C10_LIKELY(x0 >= static_cast<int64_t>(0L) && x0 < static_cast<int64_t>(4L)))
                {
                    auto tmp0 = 6L + x0;
                    auto tmp1 = c10::convert<int64_t>(tmp0);
                    auto tmp2 = at::vec::VectorizedN<int64_t,2>::arange(tmp1, 1);
                    tmp2.store(out_ptr5 + static_cast<int64_t>(x0), static_cast<int64_t>(4L));
                }
            }
        }
    }
    {
        #pragma GCC ivdep
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(3L); x0+=static_cast<int64_t>(1L))
        {
            {
                {
                    auto tmp0 = 7L + x0;
                    auto tmp1 = c10::convert<int64_t>(tmp0);
                    out_ptr6[static_cast<int64_t>(x0)] = tmp1;
                }
            }
        }
    }
    {
        #pragma GCC ivdep
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(2L); x0+=static_cast<int64_t>(1L))
        {
            {
                {
                    auto tmp0 = 8L + x0;
                    auto tmp1 = c10::convert<int64_t>(tmp0);
                    out_ptr7[static_cast<int64_t>(x0)] = tmp1;
                }
            }
        }
    }
    {
        {
            {
                auto tmp0 = static_cast<int64_t>(9);
                out_ptr8[static_cast<int64_t>(0L)] = tmp0;
            }
        }
    }
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(9L); x0+=static_cast<int64_t>(16L))
        {
            {
                if(C10_LIKELY(x0 >= static_cast<int64_t>(0L) && x0 < static_cast<int64_t>(9L)))
                {
                    auto tmp0 = static_cast<int64_t>(0);
                    auto tmp1 = at::vec::VectorizedN<int64_t,2>(tmp0);
                    tmp1.store(out_ptr9 + static_cast<int64_t>(x0), static_cast<int64_t>(9L));
                }
            }
        }
    }
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(8L); x0+=static_cast<int64_t>(16L))
        {
            {
                if(C10_LIKELY(x0 >= static_cast<int64_t>(0L) && x0 < static_cast<int64_t>(8L)))
                {
                    auto tmp0 = static_cast<int64_t>(1);
                    auto tmp1 = at::vec::VectorizedN<int64_t,2>(tmp0);
                    tmp1.store(out_ptr10 + static_cast<int64_t>(x0), static_cast<int64_t>(8L));
                }
            }
        }
    }
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(7L); x0+=static_cast<int64_t>(16L))
        {
            {
                if(C10_LIKELY(x0 >= static_cast<int64_t>(0L) && x0 < static_cast<int64_t>(7L)))
                {
                    auto tmp0 = static_cast<int64_t>(2);
                    auto tmp1 = at::vec::VectorizedN<int64_t,2>(tmp0);
                    tmp1.store(out_ptr11 + static_cast<int64_t>(x0), static_cast<int64_t>(7L));
                }
            }
        }
    }
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(6L); x0+=static_cast<int64_t>(16L))
        {
            {
                if(C10_LIKELY(x0 >= static_cast<int64_t>(0L) && x0 < static_cast<int64_t>(6L)))
                {
                    auto tmp0 = static_cast<int64_t>(3);
                    auto tmp1 = at::vec::VectorizedN<int64_t,2>(tmp0);
                    tmp1.store(out_ptr12 + static_cast<int64_t>(x0), static_cast<int64_t>(6L));
                }
            }
        }
    }
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(5L); x0+=static_cast<int64_t>(16L))
        {
            {
                if(C10_LIKELY(x0 >= static_cast<int64_t>(0L) && x0 < static_cast<int64_t>(5L)))
                {
                    auto tmp0 = static_cast<int64_t>(4);
                    auto tmp1 = at::vec::VectorizedN<int64_t,2>(tmp0);
                    tmp1.store(out_ptr13 + static_cast<int64_t>(x0), static_cast<int64_t>(5L));
                }
            }
        }
    }
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(4L); x0+=static_cast<int64_t>(16L))
        {
            {
                if(C10_LIKELY(x0 >= static_cast<int64_t>(0L) && x0 < static_cast<int64_t>(4L)))
                {
                    auto tmp0 = static_cast<int64_t>(5);
                    auto tmp1 = at::vec::VectorizedN<int64_t,2>(tmp0);
                    tmp1.store(out_ptr14 + static_cast<int64_t>(x0), static_cast<int64_t>(4L));
                }
            }
        }
    }
    {
        #pragma GCC ivdep
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(3L); x0+=static_cast<int64_t>(1L))
        {
            {
                {
                    auto tmp0 = static_cast<int64_t>(6);
                    out_ptr15[static_cast<int64_t>(x0)] = tmp0;
                }
            }
        }
    }
    {
        #pragma GCC ivdep
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(2L); x0+=static_cast<int64_t>(1L))
        {
            {
                {
                    auto tmp0 = static_cast<int64_t>(7);
                    out_ptr16[static_cast<int64_t>(x0)] = tmp0;
                }
            }
        }
    }
    {
        {
            {
                auto tmp0 = static_cast<int64_t>(8);
                out_ptr17[static_cast<int64_t>(0L)] = tmp0;
            }
        }
    }
    {
        {
            double tmp_acc0 = 0;
            at::vec::VectorizedN<double,2> tmp_acc0_vec = at::vec::VectorizedN<double,2>(0);
            for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(250L); x0+=static_cast<int64_t>(16L))
            {
                {
                    if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(240L)))
                    {
                        auto tmp0 = at::vec::VectorizedN<double,2>::loadu(in_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
                        auto tmp1 = tmp0.exp();
                        auto tmp2 = tmp1 * tmp1;
                        tmp1.store(out_ptr18 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
                        tmp_acc0_vec = tmp_acc0_vec + tmp2;
                    }
                    if(C10_UNLIKELY(x0 >= static_cast<int64_t>(240L) && x0 < static_cast<int64_t>(250L)))
                    {
                        auto tmp0 = at::vec::VectorizedN<double,2>::loadu(in_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(10L));
                        auto tmp1 = tmp0.exp();
                        auto tmp2 = tmp1 * tmp1;
                        tmp1.store(out_ptr18 + static_cast<int64_t>(x0), static_cast<int64_t>(10L));
                        tmp_acc0_vec = sum_masked_reduce(tmp_acc0_vec, tmp2, static_cast<int64_t>(10L));
                    }
                }
            }
            tmp_acc0 = tmp_acc0 + at::vec::vec_reduce_all<double, 2>([](at::vec::Vectorized<double>& x, at::vec::Vectorized<double>& y) { return x + y; }, tmp_acc0_vec);
            out_ptr19[static_cast<int64_t>(0L)] = static_cast<double>(tmp_acc0);
        }
    }
    {
        #pragma GCC ivdep
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(25L); x0+=static_cast<int64_t>(1L))
        {
            #pragma GCC ivdep
            for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(10L); x1+=static_cast<int64_t>(1L))
            {
                for(int64_t x2=static_cast<int64_t>(0L); x2<static_cast<int64_t>(10L); x2+=static_cast<int64_t>(16L))
                {
                    {
                        if(C10_LIKELY(x2 >= static_cast<int64_t>(0L) && x2 < static_cast<int64_t>(10L)))
                        {
                            auto tmp7 = at::vec::VectorizedN<double,2>::loadu(out_ptr18 + static_cast<int64_t>(x2 + 10L*x0), static_cast<int64_t>(10L));
                            auto tmp0 = x2;
                            auto tmp1 = c10::convert<int64_t>(tmp0);
                            auto tmp2 = at::vec::VectorizedN<int64_t,2>::arange(tmp1, 1);
                            auto tmp3 = x1;
                            auto tmp4 = c10::convert<int64_t>(tmp3);
                            auto tmp5 = at::vec::VectorizedN<int64_t,2>(tmp4);
                            auto tmp6 = at::vec::VecMask<int64_t,2>(tmp2 == tmp5);
                            auto tmp8 = static_cast<double>(0.0);
                            auto tmp9 = at::vec::VectorizedN<double,2>(tmp8);
                            auto tmp10 = decltype(tmp7)::blendv(tmp9, tmp7, tmp6.template cast<double,2>());
                            tmp10.store(out_ptr20 + static_cast<int64_t>(x2 + 10L*x1 + 100L*x0), static_cast<int64_t>(10L));
                        }
                    }
                }
            }
        }
    }
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(25L); x0+=static_cast<int64_t>(16L))
        {
            {
                if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(16L)))
                {
                    auto tmp0 = x0;
                    auto tmp1 = c10::convert<int64_t>(tmp0);
                    auto tmp2 = at::vec::VectorizedN<int64_t,2>::arange(tmp1, 1);
                    tmp2.store(out_ptr21 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
                }
                if(C10_UNLIKELY(x0 >= static_cast<int64_t>(16L) && x0 < static_cast<int64_t>(25L)))
                {
                    auto tmp0 = x0;
                    auto tmp1 = c10::convert<int64_t>(tmp0);
                    auto tmp2 = at::vec::VectorizedN<int64_t,2>::arange(tmp1, 1);
                    tmp2.store(out_ptr21 + static_cast<int64_t>(x0), static_cast<int64_t>(9L));
                }
            }
        }
    }
    {
        #pragma GCC ivdep
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(25L); x0+=static_cast<int64_t>(1L))
        {
            for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(45L); x1+=static_cast<int64_t>(16L))
            {
                {
                    if(C10_LIKELY(x1 >= static_cast<int64_t>(0) && x1 < static_cast<int64_t>(32L)))
                    {
                        auto tmp0 = out_ptr21[static_cast<int64_t>(x0)];
                        auto tmp9 = at::vec::VectorizedN<int64_t,2>::loadu(in_ptr1 + static_cast<int64_t>(x1), static_cast<int64_t>(16));
                        auto tmp21 = at::vec::VectorizedN<int64_t,2>::loadu(in_ptr2 + static_cast<int64_t>(x1), static_cast<int64_t>(16));
                        auto tmp28 = at::vec::VectorizedN<double,2>::loadu(in_ptr3 + static_cast<int64_t>(x1 + 45L*x0), static_cast<int64_t>(16));
                        auto tmp1 = 25L;
                        auto tmp2 = c10::convert<int64_t>(tmp1);
                        auto tmp3 = int64_t(tmp0 + tmp2);
                        auto tmp4 = tmp0 < 0;
                        auto tmp5 = tmp4 ? tmp3 : tmp0;
                        auto tmp6 = tmp5;
                        auto tmp7 = c10::convert<int64_t>(tmp6);
                        TORCH_CHECK((0 <= tmp7) & (tmp7 < 25L), "index out of bounds: 0 <= tmp7 < 25L");
                        auto tmp10 = 10L;
                        auto tmp11 = c10::convert<int64_t>(tmp10);
                        auto tmp12 = at::vec::VectorizedN<int64_t,2>(tmp11);
                        auto tmp13 = tmp9 + tmp12;
                        auto tmp14 = static_cast<int64_t>(0);
                        auto tmp15 = at::vec::VectorizedN<int64_t,2>(tmp14);
                        auto tmp16 = at::vec::VecMask<int64_t,2>(tmp9 < tmp15);
                        auto tmp17 = decltype(tmp13)::blendv(tmp9, tmp13, tmp16.template cast<int64_t,2>());
                        auto tmp18 =
                        [&]
                        {
                            __at_align__ std::array<int64_t, 16> tmpbuf;
                            tmp17.store(tmpbuf.data(), static_cast<int64_t>(16));
                            return tmpbuf;
                        }
                        ()
                        ;
                        auto tmp19 =
                        [&]
                        {
                            __at_align__ std::array<int64_t, 16> tmpbuf;
                            #pragma GCC unroll 16
                            for (long x1_inner = 0; x1_inner < static_cast<int64_t>(16); x1_inner++)
                            {
                                tmpbuf[x1_inner] = static_cast<int64_t>(tmp18[x1_inner]);
                            }
                            return at::vec::VectorizedN<int64_t,2>::loadu(tmpbuf.data(), static_cast<int64_t>(16));
                        }
                        ()
                        ;
                        TORCH_CHECK((at::vec::VecMask<int64_t,2>((at::vec::VectorizedN<int64_t,2>(0) <= tmp19) & (tmp19 < at::vec::VectorizedN<int64_t,2>(10L)))).all_masked(), "index out of bounds: 0 <= tmp19 < 10L");
                        auto tmp22 = tmp21 + tmp12;
                        auto tmp23 = at::vec::VecMask<int64_t,2>(tmp21 < tmp15);
                        auto tmp24 = decltype(tmp22)::blendv(tmp21, tmp22, tmp23.template cast<int64_t,2>());
                        auto tmp25 =
                        [&]
                        {
                            __at_align__ std::array<int64_t, 16> tmpbuf;
                            tmp24.store(tmpbuf.data(), static_cast<int64_t>(16));
                            return tmpbuf;
                        }
                        ()
                        ;
                        auto tmp26 =
                        [&]
                        {
                            __at_align__ std::array<int64_t, 16> tmpbuf;
                            #pragma GCC unroll 16
                            for (long x1_inner = 0; x1_inner < static_cast<int64_t>(16); x1_inner++)
                            {
                                tmpbuf[x1_inner] = static_cast<int64_t>(tmp25[x1_inner]);
                            }
                            return at::vec::VectorizedN<int64_t,2>::loadu(tmpbuf.data(), static_cast<int64_t>(16));
                        }
                        ()
                        ;
                        TORCH_CHECK((at::vec::VecMask<int64_t,2>((at::vec::VectorizedN<int64_t,2>(0) <= tmp26) & (tmp26 < at::vec::VectorizedN<int64_t,2>(10L)))).all_masked(), "index out of bounds: 0 <= tmp26 < 10L");
                        [&]
                        {
                            __at_align__ std::array<double, 16> tmpbuf;
                            tmp28.store(tmpbuf.data(), static_cast<int64_t>(16));
                            #pragma GCC unroll 16
                            for (long x1_inner = 0; x1_inner < static_cast<int64_t>(16); x1_inner++)
                            {
                                out_ptr20[static_cast<int64_t>(tmp25[x1_inner] + 10L*tmp18[x1_inner] + 100L*tmp5)] = tmpbuf[x1_inner];
                            }
                        }
                        ()
                        ;
                    }
                    if(C10_UNLIKELY(x1 >= static_cast<int64_t>(32L) && x1 < static_cast<int64_t>(45L)))
                    {
                        auto tmp0 = out_ptr21[static_cast<int64_t>(x0)];
                        auto tmp9 = at::vec::VectorizedN<int64_t,2>::loadu(in_ptr1 + static_cast<int64_t>(x1), static_cast<int64_t>(13L));
                        auto tmp21 = at::vec::VectorizedN<int64_t,2>::loadu(in_ptr2 + static_cast<int64_t>(x1), static_cast<int64_t>(13L));
                        auto tmp28 = at::vec::VectorizedN<double,2>::loadu(in_ptr3 + static_cast<int64_t>(x1 + 45L*x0), static_cast<int64_t>(13L));
                        auto tmp1 = 25L;
                        auto tmp2 = c10::convert<int64_t>(tmp1);
                        auto tmp3 = int64_t(tmp0 + tmp2);
                        auto tmp4 = tmp0 < 0;
                        auto tmp5 = tmp4 ? tmp3 : tmp0;
                        auto tmp6 = tmp5;
                        auto tmp7 = c10::convert<int64_t>(tmp6);
                        TORCH_CHECK((0 <= tmp7) & (tmp7 < 25L), "index out of bounds: 0 <= tmp7 < 25L");
                        auto tmp10 = 10L;
                        auto tmp11 = c10::convert<int64_t>(tmp10);
                        auto tmp12 = at::vec::VectorizedN<int64_t,2>(tmp11);
                        auto tmp13 = tmp9 + tmp12;
                        auto tmp14 = static_cast<int64_t>(0);
                        auto tmp15 = at::vec::VectorizedN<int64_t,2>(tmp14);
                        auto tmp16 = at::vec::VecMask<int64_t,2>(tmp9 < tmp15);
                        auto tmp17 = decltype(tmp13)::blendv(tmp9, tmp13, tmp16.template cast<int64_t,2>());
                        auto tmp18 =
                        [&]
                        {
                            __at_align__ std::array<int64_t, 16> tmpbuf;
                            tmp17.store(tmpbuf.data(), static_cast<int64_t>(13L));
                            return tmpbuf;
                        }
                        ()
                        ;
                        auto tmp19 =
                        [&]
                        {
                            __at_align__ std::array<int64_t, 16> tmpbuf;
                            #pragma GCC unroll 16
                            for (long x1_inner = 0; x1_inner < static_cast<int64_t>(13L); x1_inner++)
                            {
                                tmpbuf[x1_inner] = static_cast<int64_t>(tmp18[x1_inner]);
                            }
                            return at::vec::VectorizedN<int64_t,2>::loadu(tmpbuf.data(), static_cast<int64_t>(13L));
                        }
                        ()
                        ;
                        TORCH_CHECK((at::vec::VecMask<int64_t,2>::set(at::vec::VecMask<int64_t,2>::from(1), (at::vec::VecMask<int64_t,2>((at::vec::VectorizedN<int64_t,2>(0) <= tmp19) & (tmp19 < at::vec::VectorizedN<int64_t,2>(10L)))), static_cast<int64_t>(13L))).all_masked(), "index out of bounds: 0 <= tmp19 < 10L");
                        auto tmp22 = tmp21 + tmp12;
                        auto tmp23 = at::vec::VecMask<int64_t,2>(tmp21 < tmp15);
                        auto tmp24 = decltype(tmp22)::blendv(tmp21, tmp22, tmp23.template cast<int64_t,2>());
                        auto tmp25 =
                        [&]
                        {
                            __at_align__ std::array<int64_t, 16> tmpbuf;
                            tmp24.store(tmpbuf.data(), static_cast<int64_t>(13L));
                            return tmpbuf;
                        }
                        ()
                        ;
                        auto tmp26 =
                        [&]
                        {
                            __at_align__ std::array<int64_t, 16> tmpbuf;
                            #pragma GCC unroll 16
                            for (long x1_inner = 0; x1_inner < static_cast<int64_t>(13L); x1_inner++)
                            {
                                tmpbuf[x1_inner] = static_cast<int64_t>(tmp25[x1_inner]);
                            }
                            return at::vec::VectorizedN<int64_t,2>::loadu(tmpbuf.data(), static_cast<int64_t>(13L));
                        }
                        ()
                        ;
                        TORCH_CHECK((at::vec::VecMask<int64_t,2>::set(at::vec::VecMask<int64_t,2>::from(1), (at::vec::VecMask<int64_t,2>((at::vec::VectorizedN<int64_t,2>(0) <= tmp26) & (tmp26 < at::vec::VectorizedN<int64_t,2>(10L)))), static_cast<int64_t>(13L))).all_masked(), "index out of bounds: 0 <= tmp26 < 10L");
                        [&]
                        {
                            __at_align__ std::array<double, 16> tmpbuf;
                            tmp28.store(tmpbuf.data(), static_cast<int64_t>(13L));
                            #pragma GCC unroll 16
                            for (long x1_inner = 0; x1_inner < static_cast<int64_t>(13L); x1_inner++)
                            {
                                out_ptr20[static_cast<int64_t>(tmp25[x1_inner] + 10L*tmp18[x1_inner] + 100L*tmp5)] = tmpbuf[x1_inner];
                            }
                        }
                        ()
                        ;
                    }
                }
            }
        }
    }
    {
        #pragma GCC ivdep
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(1000L); x0+=static_cast<int64_t>(1L))
        {
            #pragma GCC ivdep
            for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(25L); x1+=static_cast<int64_t>(1L))
            {
                for(int64_t x2=static_cast<int64_t>(0L); x2<static_cast<int64_t>(10L); x2+=static_cast<int64_t>(16L))
                {
                    {
                        if(C10_LIKELY(x2 >= static_cast<int64_t>(0L) && x2 < static_cast<int64_t>(10L)))
                        {
                            auto tmp0 = at::vec::VectorizedN<double,2>::loadu(in_ptr4 + static_cast<int64_t>(x2 + 10L*x0), static_cast<int64_t>(10L));
                            auto tmp1 = at::vec::VectorizedN<double,2>::loadu(in_ptr5 + static_cast<int64_t>(x2 + 10L*x1), static_cast<int64_t>(10L));
                            auto tmp2 = tmp0 - tmp1;
                            tmp2.store(out_ptr22 + static_cast<int64_t>(x2 + 10L*x1 + 250L*x0), static_cast<int64_t>(10L));
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


cpp_fused_add_diag_embed_exp_logsumexp_mul_permute_sub_sum_unsqueeze_view_1 = async_compile.cpp_pybinding(['double*', 'double*', 'double*', 'const double*', 'const double*', 'const double*', 'const double*', 'const double*', 'double*', 'double*', 'double*', 'double*', 'double*', 'double*'], r'''
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  kernel(double* in_out_ptr0,
                       double* in_out_ptr1,
                       double* in_out_ptr2,
                       const double* in_ptr0,
                       const double* in_ptr1,
                       const double* in_ptr2,
                       const double* in_ptr3,
                       const double* in_ptr4,
                       double* out_ptr0,
                       double* out_ptr1,
                       double* out_ptr2,
                       double* out_ptr3,
                       double* out_ptr6,
                       double* out_ptr8)
{
    std::atomic<int> inductor_cpu_integer_div_error{0};
    inductor_cpu_integer_div_error_flag = &inductor_cpu_integer_div_error;
    auto out_ptr4 = in_out_ptr0;
    auto out_ptr7 = in_out_ptr1;
    auto out_ptr5 = in_out_ptr2;
    {
        #pragma GCC ivdep
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(25L); x0+=static_cast<int64_t>(1L))
        {
            {
                double tmp_acc0 = 0;
                at::vec::VectorizedN<double,2> tmp_acc0_vec = at::vec::VectorizedN<double,2>(0);
                for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(10L); x1+=static_cast<int64_t>(16L))
                {
                    {
                        if(C10_LIKELY(x1 >= static_cast<int64_t>(0L) && x1 < static_cast<int64_t>(10L)))
                        {
                            auto tmp0 = at::vec::VectorizedN<double,2>::loadu(in_ptr0 + static_cast<int64_t>(x1 + 10L*x0), static_cast<int64_t>(10L));
                            tmp_acc0_vec = sum_masked_reduce(tmp_acc0_vec, tmp0, static_cast<int64_t>(10L));
                        }
                    }
                }
                tmp_acc0 = tmp_acc0 + at::vec::vec_reduce_all<double, 2>([](at::vec::Vectorized<double>& x, at::vec::Vectorized<double>& y) { return x + y; }, tmp_acc0_vec);
                out_ptr0[static_cast<int64_t>(x0)] = static_cast<double>(tmp_acc0);
            }
        }
    }
    {
        #pragma GCC ivdep
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(25000L); x0+=static_cast<int64_t>(1L))
        {
            {
                double tmp_acc0 = 0;
                at::vec::VectorizedN<double,2> tmp_acc0_vec = at::vec::VectorizedN<double,2>(0);
                for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(10L); x1+=static_cast<int64_t>(16L))
                {
                    {
                        if(C10_LIKELY(x1 >= static_cast<int64_t>(0L) && x1 < static_cast<int64_t>(10L)))
                        {
                            auto tmp0 = at::vec::VectorizedN<double,2>::loadu(in_ptr1 + static_cast<int64_t>(x1 + 10L*x0), static_cast<int64_t>(10L));
                            auto tmp1 = tmp0 * tmp0;
                            tmp_acc0_vec = sum_masked_reduce(tmp_acc0_vec, tmp1, static_cast<int64_t>(10L));
                        }
                    }
                }
                tmp_acc0 = tmp_acc0 + at::vec::vec_reduce_all<double, 2>([](at::vec::Vectorized<double>& x, at::vec::Vectorized<double>& y) { return x + y; }, tmp_acc0_vec);
                out_ptr1[static_cast<int64_t>(x0)] = static_cast<double>(tmp_acc0);
            }
        }
    }
    {
        {
            double tmp_acc0 = 0;
            at::vec::VectorizedN<double,2> tmp_acc0_vec = at::vec::VectorizedN<double,2>(0);
            for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(1125L); x0+=static_cast<int64_t>(16L))
            {
                {
                    if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(1120L)))
                    {
                        auto tmp0 = at::vec::VectorizedN<double,2>::loadu(in_ptr2 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
                        auto tmp1 = tmp0 * tmp0;
                        tmp_acc0_vec = tmp_acc0_vec + tmp1;
                    }
                    if(C10_UNLIKELY(x0 >= static_cast<int64_t>(1120L) && x0 < static_cast<int64_t>(1125L)))
                    {
                        auto tmp0 = at::vec::VectorizedN<double,2>::loadu(in_ptr2 + static_cast<int64_t>(x0), static_cast<int64_t>(5L));
                        auto tmp1 = tmp0 * tmp0;
                        tmp_acc0_vec = sum_masked_reduce(tmp_acc0_vec, tmp1, static_cast<int64_t>(5L));
                    }
                }
            }
            tmp_acc0 = tmp_acc0 + at::vec::vec_reduce_all<double, 2>([](at::vec::Vectorized<double>& x, at::vec::Vectorized<double>& y) { return x + y; }, tmp_acc0_vec);
            out_ptr2[static_cast<int64_t>(0L)] = static_cast<double>(tmp_acc0);
        }
    }
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(1000L); x0+=static_cast<int64_t>(16L))
        {
            {
                double tmp_acc0 = -std::numeric_limits<double>::infinity();
                at::vec::VectorizedN<double,2> tmp_acc0_vec = at::vec::VectorizedN<double,2>(-std::numeric_limits<double>::infinity());
                for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(25L); x1+=static_cast<int64_t>(1L))
                {
                    {
                        if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(992L)))
                        {
                            auto tmp0 = in_ptr3[static_cast<int64_t>(x1)];
                            auto tmp1 = out_ptr0[static_cast<int64_t>(x1)];
                            auto tmp3 = at::vec::VectorizedN<double,2>::loadu(out_ptr1 + static_cast<int64_t>(x0 + 1000L*x1), static_cast<int64_t>(16));
                            auto tmp2 = double(tmp0 + tmp1);
                            auto tmp4 = static_cast<double>(0.5);
                            auto tmp5 = at::vec::VectorizedN<double,2>(tmp4);
                            auto tmp6 = tmp3 * tmp5;
                            auto tmp7 = at::vec::VectorizedN<double,2>(tmp2);
                            auto tmp8 = tmp7 - tmp6;
                            tmp_acc0_vec = at::vec::maximum(tmp_acc0_vec, tmp8);
                        }
                        if(C10_UNLIKELY(x0 >= static_cast<int64_t>(992L) && x0 < static_cast<int64_t>(1000L)))
                        {
                            auto tmp0 = in_ptr3[static_cast<int64_t>(x1)];
                            auto tmp1 = out_ptr0[static_cast<int64_t>(x1)];
                            auto tmp3 = at::vec::VectorizedN<double,2>::loadu(out_ptr1 + static_cast<int64_t>(x0 + 1000L*x1), static_cast<int64_t>(8L));
                            auto tmp2 = double(tmp0 + tmp1);
                            auto tmp4 = static_cast<double>(0.5);
                            auto tmp5 = at::vec::VectorizedN<double,2>(tmp4);
                            auto tmp6 = tmp3 * tmp5;
                            auto tmp7 = at::vec::VectorizedN<double,2>(tmp2);
                            auto tmp8 = tmp7 - tmp6;
                            tmp_acc0_vec = max_masked_reduce(tmp_acc0_vec, tmp8, static_cast<int64_t>(8L));
                        }
                    }
                }
                if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(992L)))
                {
                    tmp_acc0_vec.store(out_ptr3 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
                }
                if(C10_UNLIKELY(x0 >= static_cast<int64_t>(992L) && x0 < static_cast<int64_t>(1000L)))
                {
                    tmp_acc0_vec.store(out_ptr3 + static_cast<int64_t>(x0), static_cast<int64_t>(8L));
                }
            }
            {
                double tmp_acc0 = 0;
                at::vec::VectorizedN<double,2> tmp_acc0_vec = at::vec::VectorizedN<double,2>(0);
                for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(25L); x1+=static_cast<int64_t>(1L))
                {
                    {
                        if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(992L)))
                        {
                            auto tmp0 = in_ptr3[static_cast<int64_t>(x1)];
                            auto tmp1 = out_ptr0[static_cast<int64_t>(x1)];
                            auto tmp3 = at::vec::VectorizedN<double,2>::loadu(out_ptr1 + static_cast<int64_t>(x0 + 1000L*x1), static_cast<int64_t>(16));
                            auto tmp9 = at::vec::VectorizedN<double,2>::loadu(out_ptr3 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
                            auto tmp2 = double(tmp0 + tmp1);
                            auto tmp4 = static_cast<double>(0.5);
                            auto tmp5 = at::vec::VectorizedN<double,2>(tmp4);
                            auto tmp6 = tmp3 * tmp5;
                            auto tmp7 = at::vec::VectorizedN<double,2>(tmp2);
                            auto tmp8 = tmp7 - tmp6;
                            auto tmp10 = tmp9.abs();
                            auto tmp11 = std::numeric_limits<double>::infinity();
                            auto tmp12 = at::vec::VectorizedN<double,2>(tmp11);
                            auto tmp13 = at::vec::VecMask<double,2>(tmp10 == tmp12);
                            auto tmp14 = static_cast<double>(0.0);
                            auto tmp15 = at::vec::VectorizedN<double,2>(tmp14);
                            auto tmp16 = decltype(tmp15)::blendv(tmp9, tmp15, tmp13.template cast<double,2>());
                            auto tmp17 = tmp8 - tmp16;
                            auto tmp18 = tmp17.exp();
                            tmp_acc0_vec = tmp_acc0_vec + tmp18;
                        }
                        if(C10_UNLIKELY(x0 >= static_cast<int64_t>(992L) && x0 < static_cast<int64_t>(1000L)))
                        {
                            auto tmp0 = in_ptr3[static_cast<int64_t>(x1)];
                            auto tmp1 = out_ptr0[static_cast<int64_t>(x1)];
                            auto tmp3 = at::vec::VectorizedN<double,2>::loadu(out_ptr1 + static_cast<int64_t>(x0 + 1000L*x1), static_cast<int64_t>(8L));
                            auto tmp9 = at::vec::VectorizedN<double,2>::loadu(out_ptr3 + static_cast<int64_t>(x0), static_cast<int64_t>(8L));
                            auto tmp2 = double(tmp0 + tmp1);
                            auto tmp4 = static_cast<double>(0.5);
                            auto tmp5 = at::vec::VectorizedN<double,2>(tmp4);
                            auto tmp6 = tmp3 * tmp5;
                            auto tmp7 = at::vec::VectorizedN<double,2>(tmp2);
                            auto tmp8 = tmp7 - tmp6;
                            auto tmp10 = tmp9.abs();
                            auto tmp11 = std::numeric_limits<double>::infinity();
                            auto tmp12 = at::vec::VectorizedN<double,2>(tmp11);
                            auto tmp13 = at::vec::VecMask<double,2>(tmp10 == tmp12);
                            auto tmp14 = static_cast<double>(0.0);
                            auto tmp15 = at::vec::VectorizedN<double,2>(tmp14);
                            auto tmp16 = decltype(tmp15)::blendv(tmp9, tmp15, tmp13.template cast<double,2>());
                            auto tmp17 = tmp8 - tmp16;
                            auto tmp18 = tmp17.exp();
                            tmp_acc0_vec = sum_masked_reduce(tmp_acc0_vec, tmp18, static_cast<int64_t>(8L));
                        }
                    }
                }
                if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(992L)))
                {
                    tmp_acc0_vec.store(out_ptr4 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
                }
                if(C10_UNLIKELY(x0 >= static_cast<int64_t>(992L) && x0 < static_cast<int64_t>(1000L)))
                {
                    tmp_acc0_vec.store(out_ptr4 + static_cast<int64_t>(x0), static_cast<int64_t>(8L));
                }
            }
        }
    }
    {
        {
            double tmp_acc0 = 0;
            at::vec::VectorizedN<double,2> tmp_acc0_vec = at::vec::VectorizedN<double,2>(0);
            for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(1000L); x0+=static_cast<int64_t>(16L))
            {
                {
                    if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(992L)))
                    {
                        auto tmp0 = at::vec::VectorizedN<double,2>::loadu(out_ptr4 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
                        auto tmp2 = at::vec::VectorizedN<double,2>::loadu(out_ptr3 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
                        auto tmp1 = tmp0.log();
                        auto tmp3 = tmp2.abs();
                        auto tmp4 = std::numeric_limits<double>::infinity();
                        auto tmp5 = at::vec::VectorizedN<double,2>(tmp4);
                        auto tmp6 = at::vec::VecMask<double,2>(tmp3 == tmp5);
                        auto tmp7 = static_cast<double>(0.0);
                        auto tmp8 = at::vec::VectorizedN<double,2>(tmp7);
                        auto tmp9 = decltype(tmp8)::blendv(tmp2, tmp8, tmp6.template cast<double,2>());
                        auto tmp10 = tmp1 + tmp9;
                        tmp10.store(in_out_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
                        tmp_acc0_vec = tmp_acc0_vec + tmp10;
                    }
                    if(C10_UNLIKELY(x0 >= static_cast<int64_t>(992L) && x0 < static_cast<int64_t>(1000L)))
                    {
                        auto tmp0 = at::vec::VectorizedN<double,2>::loadu(out_ptr4 + static_cast<int64_t>(x0), static_cast<int64_t>(8L));
                        auto tmp2 = at::vec::VectorizedN<double,2>::loadu(out_ptr3 + static_cast<int64_t>(x0), static_cast<int64_t>(8L));
                        auto tmp1 = tmp0.log();
                        auto tmp3 = tmp2.abs();
                        auto tmp4 = std::numeric_limits<double>::infinity();
                        auto tmp5 = at::vec::VectorizedN<double,2>(tmp4);
                        auto tmp6 = at::vec::VecMask<double,2>(tmp3 == tmp5);
                        auto tmp7 = static_cast<double>(0.0);
                        auto tmp8 = at::vec::VectorizedN<double,2>(tmp7);
                        auto tmp9 = decltype(tmp8)::blendv(tmp2, tmp8, tmp6.template cast<double,2>());
                        auto tmp10 = tmp1 + tmp9;
                        tmp10.store(in_out_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(8L));
                        tmp_acc0_vec = sum_masked_reduce(tmp_acc0_vec, tmp10, static_cast<int64_t>(8L));
                    }
                }
            }
            tmp_acc0 = tmp_acc0 + at::vec::vec_reduce_all<double, 2>([](at::vec::Vectorized<double>& x, at::vec::Vectorized<double>& y) { return x + y; }, tmp_acc0_vec);
            out_ptr5[static_cast<int64_t>(0L)] = static_cast<double>(tmp_acc0);
        }
    }
    {
        {
            double tmp_acc0 = -std::numeric_limits<double>::infinity();
            at::vec::VectorizedN<double,2> tmp_acc0_vec = at::vec::VectorizedN<double,2>(-std::numeric_limits<double>::infinity());
            for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(25L); x0+=static_cast<int64_t>(16L))
            {
                {
                    if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(16L)))
                    {
                        auto tmp0 = at::vec::VectorizedN<double,2>::loadu(in_ptr3 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
                        tmp_acc0_vec = at::vec::maximum(tmp_acc0_vec, tmp0);
                    }
                    if(C10_UNLIKELY(x0 >= static_cast<int64_t>(16L) && x0 < static_cast<int64_t>(25L)))
                    {
                        auto tmp0 = at::vec::VectorizedN<double,2>::loadu(in_ptr3 + static_cast<int64_t>(x0), static_cast<int64_t>(9L));
                        tmp_acc0_vec = max_masked_reduce(tmp_acc0_vec, tmp0, static_cast<int64_t>(9L));
                    }
                }
            }
            tmp_acc0 = max_propagate_nan(tmp_acc0, at::vec::vec_reduce_all<double, 2>([](at::vec::Vectorized<double>& x, at::vec::Vectorized<double>& y) { return at::vec::maximum(x, y); }, tmp_acc0_vec));
            out_ptr6[static_cast<int64_t>(0L)] = static_cast<double>(tmp_acc0);
        }
    }
    {
        {
            double tmp_acc0 = 0;
            at::vec::VectorizedN<double,2> tmp_acc0_vec = at::vec::VectorizedN<double,2>(0);
            for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(25L); x0+=static_cast<int64_t>(16L))
            {
                {
                    if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(16L)))
                    {
                        auto tmp0 = at::vec::VectorizedN<double,2>::loadu(in_ptr3 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
                        auto tmp1 = out_ptr6[static_cast<int64_t>(0L)];
                        auto tmp2 = std::abs(tmp1);
                        auto tmp3 = std::numeric_limits<double>::infinity();
                        auto tmp4 = tmp2 == tmp3;
                        auto tmp5 = static_cast<double>(0.0);
                        auto tmp6 = tmp4 ? tmp5 : tmp1;
                        auto tmp7 = at::vec::VectorizedN<double,2>(tmp6);
                        auto tmp8 = tmp0 - tmp7;
                        auto tmp9 = tmp8.exp();
                        tmp_acc0_vec = tmp_acc0_vec + tmp9;
                    }
                    if(C10_UNLIKELY(x0 >= static_cast<int64_t>(16L) && x0 < static_cast<int64_t>(25L)))
                    {
                        auto tmp0 = at::vec::VectorizedN<double,2>::loadu(in_ptr3 + static_cast<int64_t>(x0), static_cast<int64_t>(9L));
                        auto tmp1 = out_ptr6[static_cast<int64_t>(0L)];
                        auto tmp2 = std::abs(tmp1);
                        auto tmp3 = std::numeric_limits<double>::infinity();
                        auto tmp4 = tmp2 == tmp3;
                        auto tmp5 = static_cast<double>(0.0);
                        auto tmp6 = tmp4 ? tmp5 : tmp1;
                        auto tmp7 = at::vec::VectorizedN<double,2>(tmp6);
                        auto tmp8 = tmp0 - tmp7;
                        auto tmp9 = tmp8.exp();
                        tmp_acc0_vec = sum_masked_reduce(tmp_acc0_vec, tmp9, static_cast<int64_t>(9L));
                    }
                }
            }
            tmp_acc0 = tmp_acc0 + at::vec::vec_reduce_all<double, 2>([](at::vec::Vectorized<double>& x, at::vec::Vectorized<double>& y) { return x + y; }, tmp_acc0_vec);
            out_ptr7[static_cast<int64_t>(0L)] = static_cast<double>(tmp_acc0);
        }
    }
    {
        {
            {
                auto tmp0 = out_ptr7[static_cast<int64_t>(0L)];
                auto tmp2 = out_ptr6[static_cast<int64_t>(0L)];
                auto tmp9 = out_ptr5[static_cast<int64_t>(0L)];
                auto tmp13 = in_ptr4[static_cast<int64_t>(0L)];
                auto tmp14 = out_ptr2[static_cast<int64_t>(0L)];
                auto tmp1 = std::log(tmp0);
                auto tmp3 = std::abs(tmp2);
                auto tmp4 = std::numeric_limits<double>::infinity();
                auto tmp5 = tmp3 == tmp4;
                auto tmp6 = static_cast<double>(0.0);
                auto tmp7 = tmp5 ? tmp6 : tmp2;
                auto tmp8 = double(tmp1 + tmp7);
                auto tmp10 = static_cast<double>(1000.0);
                auto tmp11 = double(tmp8 * tmp10);
                auto tmp12 = double(tmp9 - tmp11);
                auto tmp15 = double(tmp13 + tmp14);
                auto tmp16 = static_cast<double>(0.5);
                auto tmp17 = double(tmp15 * tmp16);
                auto tmp18 = double(tmp12 - tmp17);
                auto tmp19 = static_cast<double>(1.0);
                auto tmp20 = double(tmp18 * tmp19);
                auto tmp21 = double(tmp20 + tmp6);
                in_out_ptr1[static_cast<int64_t>(0L)] = tmp8;
                in_out_ptr2[static_cast<int64_t>(0L)] = tmp21;
            }
        }
    }
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(1000L); x0+=static_cast<int64_t>(16L))
        {
            for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(25L); x1+=static_cast<int64_t>(16L))
            {
                {
                    if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(992L) && x1 >= static_cast<int64_t>(0) && x1 < static_cast<int64_t>(16L)))
                    {
                        alignas(std::max(std::size_t(16), alignof(double))) double tmp3[16*16];
                        transpose_mxn<double,static_cast<int64_t>(16),static_cast<int64_t>(16),false>(out_ptr1 + static_cast<int64_t>(x0 + 1000L*x1), static_cast<int64_t>(1000L), tmp3, static_cast<int64_t>(16));
                        for (long x0_inner = 0; x0_inner < static_cast<int64_t>(16); x0_inner++)
                        {
                            auto tmp0 = at::vec::VectorizedN<double,2>::loadu(in_ptr3 + static_cast<int64_t>(x1), static_cast<int64_t>(16));
                            auto tmp1 = at::vec::VectorizedN<double,2>::loadu(out_ptr0 + static_cast<int64_t>(x1), static_cast<int64_t>(16));
                            auto tmp4 = at::vec::VectorizedN<double,2>::loadu(tmp3 + static_cast<int64_t>(16L*x0_inner), static_cast<int64_t>(16));
                            auto tmp9 = in_out_ptr0[static_cast<int64_t>(x0 + x0_inner)];
                            auto tmp2 = tmp0 + tmp1;
                            auto tmp5 = static_cast<double>(0.5);
                            auto tmp6 = at::vec::VectorizedN<double,2>(tmp5);
                            auto tmp7 = tmp4 * tmp6;
                            auto tmp8 = tmp2 - tmp7;
                            auto tmp10 = at::vec::VectorizedN<double,2>(tmp9);
                            auto tmp11 = tmp8 - tmp10;
                            auto tmp12 = tmp11.exp();
                            tmp12.store(out_ptr8 + static_cast<int64_t>(x1 + 25L*x0 + 25L*x0_inner), static_cast<int64_t>(16));
                        }
                    }
                    if(C10_UNLIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(992L) && x1 >= static_cast<int64_t>(16L) && x1 < static_cast<int64_t>(25L)))
                    {
                        alignas(std::max(std::size_t(16), alignof(double))) double tmp3[16*16];
                        transpose_mxn<double,static_cast<int64_t>(9L),static_cast<int64_t>(16),false>(out_ptr1 + static_cast<int64_t>(x0 + 1000L*x1), static_cast<int64_t>(1000L), tmp3, static_cast<int64_t>(9L));
                        for (long x0_inner = 0; x0_inner < static_cast<int64_t>(16); x0_inner++)
                        {
                            auto tmp0 = at::vec::VectorizedN<double,2>::loadu(in_ptr3 + static_cast<int64_t>(x1), static_cast<int64_t>(9L));
                            auto tmp1 = at::vec::VectorizedN<double,2>::loadu(out_ptr0 + static_cast<int64_t>(x1), static_cast<int64_t>(9L));
                            auto tmp4 = at::vec::VectorizedN<double,2>::loadu(tmp3 + static_cast<int64_t>(9L*x0_inner), static_cast<int64_t>(9L));
                            auto tmp9 = in_out_ptr0[static_cast<int64_t>(x0 + x0_inner)];
                            auto tmp2 = tmp0 + tmp1;
                            auto tmp5 = static_cast<double>(0.5);
                            auto tmp6 = at::vec::VectorizedN<double,2>(tmp5);
                            auto tmp7 = tmp4 * tmp6;
                            auto tmp8 = tmp2 - tmp7;
                            auto tmp10 = at::vec::VectorizedN<double,2>(tmp9);
                            auto tmp11 = tmp8 - tmp10;
                            auto tmp12 = tmp11.exp();
                            tmp12.store(out_ptr8 + static_cast<int64_t>(x1 + 25L*x0 + 25L*x0_inner), static_cast<int64_t>(9L));
                        }
                    }
                    if(C10_UNLIKELY(x0 >= static_cast<int64_t>(992L) && x0 < static_cast<int64_t>(1000L) && x1 >= static_cast<int64_t>(0) && x1 < static_cast<int64_t>(16L)))
                    {
                        alignas(std::max(std::size_t(16), alignof(double))) double tmp3[16*16];
                        transpose_mxn<double,static_cast<int64_t>(16),static_cast<int64_t>(8L),false>(out_ptr1 + static_cast<int64_t>(x0 + 1000L*x1), static_cast<int64_t>(1000L), tmp3, static_cast<int64_t>(16));
                        for (long x0_inner = 0; x0_inner < static_cast<int64_t>(8L); x0_inner++)
                        {
                            auto tmp0 = at::vec::VectorizedN<double,2>::loadu(in_ptr3 + static_cast<int64_t>(x1), static_cast<int64_t>(16));
                            auto tmp1 = at::vec::VectorizedN<double,2>::loadu(out_ptr0 + static_cast<int64_t>(x1), static_cast<int64_t>(16));
                            auto tmp4 = at::vec::VectorizedN<double,2>::loadu(tmp3 + static_cast<int64_t>(16L*x0_inner), static_cast<int64_t>(16));
                            auto tmp9 = in_out_ptr0[static_cast<int64_t>(x0 + x0_inner)];
                            auto tmp2 = tmp0 + tmp1;
                            auto tmp5 = static_cast<double>(0.5);
                            auto tmp6 = at::vec::VectorizedN<double,2>(tmp5);
                            auto tmp7 = tmp4 * tmp6;
                            auto tmp8 = tmp2 - tmp7;
                            auto tmp10 = at::vec::VectorizedN<double,2>(tmp9);
                            auto tmp11 = tmp8 - tmp10;
                            auto tmp12 = tmp11.exp();
                            tmp12.store(out_ptr8 + static_cast<int64_t>(x1 + 25L*x0 + 25L*x0_inner), static_cast<int64_t>(16));
                        }
                    }
                    if(C10_UNLIKELY(x0 >= static_cast<int64_t>(992L) && x0 < static_cast<int64_t>(1000L) && x1 >= static_cast<int64_t>(16L) && x1 < static_cast<int64_t>(25L)))
                    {
                        alignas(std::max(std::size_t(16), alignof(double))) double tmp3[16*16];
                        transpose_mxn<double,static_cast<int64_t>(9L),static_cast<int64_t>(8L),false>(out_ptr1 + static_cast<int64_t>(x0 + 1000L*x1), static_cast<int64_t>(1000L), tmp3, static_cast<int64_t>(9L));
                        for (long x0_inner = 0; x0_inner < static_cast<int64_t>(8L); x0_inner++)
                        {
                            auto tmp0 = at::vec::VectorizedN<double,2>::loadu(in_ptr3 + static_cast<int64_t>(x1), static_cast<int64_t>(9L));
                            auto tmp1 = at::vec::VectorizedN<double,2>::loadu(out_ptr0 + static_cast<int64_t>(x1), static_cast<int64_t>(9L));
                            auto tmp4 = at::vec::VectorizedN<double,2>::loadu(tmp3 + static_cast<int64_t>(9L*x0_inner), static_cast<int64_t>(9L));
                            auto tmp9 = in_out_ptr0[static_cast<int64_t>(x0 + x0_inner)];
                            auto tmp2 = tmp0 + tmp1;
                            auto tmp5 = static_cast<double>(0.5);
                            auto tmp6 = at::vec::VectorizedN<double,2>(tmp5);
                            auto tmp7 = tmp4 * tmp6;
                            auto tmp8 = tmp2 - tmp7;
                            auto tmp10 = at::vec::VectorizedN<double,2>(tmp9);
                            auto tmp11 = tmp8 - tmp10;
                            auto tmp12 = tmp11.exp();
                            tmp12.store(out_ptr8 + static_cast<int64_t>(x1 + 25L*x0 + 25L*x0_inner), static_cast<int64_t>(9L));
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
        primals_1, primals_2, primals_3, primals_4, primals_5 = args
        args.clear()
        buf9 = empty_strided_cpu((45, ), (1, ), torch.int64)
        buf0 = reinterpret_tensor(buf9, (9, ), (1, ), 0)  # alias
        buf1 = reinterpret_tensor(buf9, (8, ), (1, ), 9)  # alias
        buf2 = reinterpret_tensor(buf9, (7, ), (1, ), 17)  # alias
        buf3 = reinterpret_tensor(buf9, (6, ), (1, ), 24)  # alias
        buf4 = reinterpret_tensor(buf9, (5, ), (1, ), 30)  # alias
        buf5 = reinterpret_tensor(buf9, (4, ), (1, ), 35)  # alias
        buf6 = reinterpret_tensor(buf9, (3, ), (1, ), 39)  # alias
        buf7 = reinterpret_tensor(buf9, (2, ), (1, ), 42)  # alias
        buf8 = reinterpret_tensor(buf9, (1, ), (1, ), 44)  # alias
        buf19 = empty_strided_cpu((45, ), (1, ), torch.int64)
        buf10 = reinterpret_tensor(buf19, (9, ), (1, ), 0)  # alias
        buf11 = reinterpret_tensor(buf19, (8, ), (1, ), 9)  # alias
        buf12 = reinterpret_tensor(buf19, (7, ), (1, ), 17)  # alias
        buf13 = reinterpret_tensor(buf19, (6, ), (1, ), 24)  # alias
        buf14 = reinterpret_tensor(buf19, (5, ), (1, ), 30)  # alias
        buf15 = reinterpret_tensor(buf19, (4, ), (1, ), 35)  # alias
        buf16 = reinterpret_tensor(buf19, (3, ), (1, ), 39)  # alias
        buf17 = reinterpret_tensor(buf19, (2, ), (1, ), 42)  # alias
        buf18 = reinterpret_tensor(buf19, (1, ), (1, ), 44)  # alias
        assert_size_stride(primals_2, (25, 10), (10, 1), 'input')
        buf20 = empty_strided_cpu((25, 10), (10, 1), torch.float64)
        buf28 = empty_strided_cpu((), (), torch.float64)
        buf22 = empty_strided_cpu((25, 10, 10), (100, 10, 1), torch.float64)
        assert_size_stride(primals_4, (25, 45), (45, 1), 'input')
        buf21 = empty_strided_cpu((25, ), (1, ), torch.int64)
        assert_size_stride(primals_1, (1000, 10), (10, 1), 'input')
        assert_size_stride(primals_5, (25, 10), (10, 1), 'input')
        buf24 = empty_strided_cpu((1000, 25, 10), (250, 10, 1), torch.float64)
        cpp_fused_arange_diag_embed_exp_full_index_put_pow_sub_sum_unsqueeze_0(primals_2, buf9, buf19, primals_4, primals_1, primals_5, buf0, buf1, buf2, buf3, buf4, buf5, buf6, buf7, buf8, buf10, buf11, buf12, buf13, buf14, buf15, buf16, buf17, buf18, buf20, buf28, buf22, buf21, buf24)
        del buf20
        del primals_1
        del primals_5
        buf25 = empty_strided_cpu((25, 1000, 10), (10000, 10, 1), torch.float64)
        # Topologically Sorted Source Nodes: [getitem_3, getitem_4, sub, z], Original ATen: [aten.unsqueeze, aten.sub, aten.permute, aten.view, aten.bmm]
        extern_kernels.bmm(reinterpret_tensor(buf24, (25, 1000, 10), (10, 250, 1), 0), reinterpret_tensor(buf22, (25, 10, 10), (100, 1, 10), 0), out=buf25)
        buf26 = empty_strided_cpu((25, ), (1, ), torch.float64)
        buf27 = empty_strided_cpu((1000, 25), (1, 1000), torch.float64)
        buf29 = empty_strided_cpu((), (), torch.float64)
        assert_size_stride(primals_3, (25, ), (1, ), 'input')
        buf30 = empty_strided_cpu((1000, 1), (1, 1000), torch.float64)
        buf31 = empty_strided_cpu((1000, ), (1, ), torch.float64)
        buf32 = buf31; del buf31  # reuse
        buf33 = empty_strided_cpu((), (), torch.float64)
        buf34 = empty_strided_cpu((1, ), (1, ), torch.float64)
        buf35 = empty_strided_cpu((), (), torch.float64)
        buf36 = buf35; del buf35  # reuse
        buf38 = buf33; del buf33  # reuse
        buf37 = empty_strided_cpu((1000, 25), (25, 1), torch.float64)
        cpp_fused_add_diag_embed_exp_logsumexp_mul_permute_sub_sum_unsqueeze_view_1(buf32, buf36, buf38, primals_2, buf25, primals_4, primals_3, buf28, buf26, buf27, buf29, buf30, buf34, buf37)
        return (buf38, primals_2, primals_3, primals_4, reinterpret_tensor(buf21, (25, 1), (1, 1), 0), reinterpret_tensor(buf9, (1, 45), (45, 1), 0), reinterpret_tensor(buf19, (1, 45), (45, 1), 0), buf25, reinterpret_tensor(buf36, (1, ), (1, ), 0), buf37, reinterpret_tensor(buf24, (25, 10, 1000), (10, 1, 250), 0), buf22, )

runner = Runner(partitions=[])
call = runner.call
recursively_apply_fns = runner.recursively_apply_fns


def get_args():
    from torch._dynamo.testing import rand_strided
    primals_1 = rand_strided((1000, 10), (10, 1), device='cpu', dtype=torch.float64)
    primals_2 = rand_strided((25, 10), (10, 1), device='cpu', dtype=torch.float64)
    primals_3 = rand_strided((25, ), (1, ), device='cpu', dtype=torch.float64)
    primals_4 = rand_strided((25, 45), (45, 1), device='cpu', dtype=torch.float64)
    primals_5 = rand_strided((25, 10), (10, 1), device='cpu', dtype=torch.float64)
    return [primals_1, primals_2, primals_3, primals_4, primals_5]


def benchmark_compiled_module(args, times=10, repeat=10):
    from torch._inductor.utils import print_performance
    fn = lambda: call(list(args))
    return print_performance(fn, times=times, repeat=repeat, device='cpu')


if __name__ == "__main__":
    from torch._inductor.wrapper_benchmark import compiled_module_main
    args = get_args()
    compiled_module_main('None', lambda times, repeat: benchmark_compiled_module(args, times=times, repeat=repeat))
