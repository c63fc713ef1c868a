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


cpp_fused_add_expand_mul_neg_permute_unsqueeze_view_0 = async_compile.cpp_pybinding(['const double*', 'const double*', 'const double*', 'double*'], r'''
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  kernel(const double* in_ptr0,
                       const double* in_ptr1,
                       const double* in_ptr2,
                       double* out_ptr0)
{
    std::atomic<int> inductor_cpu_integer_div_error{0};
    inductor_cpu_integer_div_error_flag = &inductor_cpu_integer_div_error;
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
                            auto tmp0 = in_ptr0[static_cast<int64_t>(0L)];
                            auto tmp3 = in_ptr1[static_cast<int64_t>(x1 + 25L*x0)];
                            auto tmp8 = at::vec::VectorizedN<double,2>::loadu(in_ptr2 + static_cast<int64_t>(x2 + 10L*x0 + 10000L*x1), static_cast<int64_t>(10L));
                            auto tmp1 = static_cast<double>(1.0);
                            auto tmp2 = double(tmp0 * tmp1);
                            auto tmp4 = double(tmp2 * tmp3);
                            auto tmp5 = decltype(tmp4)(-tmp4);
                            auto tmp6 = static_cast<double>(0.5);
                            auto tmp7 = double(tmp5 * tmp6);
                            auto tmp9 = at::vec::VectorizedN<double,2>(tmp7);
                            auto tmp10 = tmp9 * tmp8;
                            auto tmp11 = tmp10 + tmp10;
                            tmp11.store(out_ptr0 + static_cast<int64_t>(x2 + 10L*x1 + 250L*x0), static_cast<int64_t>(10L));
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


cpp_fused_add_diag_embed_diagonal_exp_expand_index_index_put_mul_neg_permute_pow_squeeze_sub_sum_unsqueeze_view_zeros_1 = async_compile.cpp_pybinding(['double*', 'const double*', 'const int64_t*', 'const int64_t*', 'const int64_t*', 'const double*', 'const double*', 'const double*', 'const double*', 'const double*', 'const double*', 'double*', 'double*', 'double*', 'double*'], r'''
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  kernel(double* in_out_ptr0,
                       const double* in_ptr0,
                       const int64_t* in_ptr1,
                       const int64_t* in_ptr2,
                       const int64_t* in_ptr3,
                       const double* in_ptr4,
                       const double* in_ptr5,
                       const double* in_ptr6,
                       const double* in_ptr7,
                       const double* in_ptr8,
                       const double* in_ptr9,
                       double* out_ptr0,
                       double* out_ptr1,
                       double* out_ptr2,
                       double* out_ptr3)
{
    std::atomic<int> inductor_cpu_integer_div_error{0};
    inductor_cpu_integer_div_error_flag = &inductor_cpu_integer_div_error;
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(2500L); x0+=static_cast<int64_t>(16L))
        {
            {
                if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(2496L)))
                {
                    auto tmp0 = at::vec::VectorizedN<double,2>::loadu(in_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
                    tmp0.store(out_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
                }
                if(C10_UNLIKELY(x0 >= static_cast<int64_t>(2496L) && x0 < static_cast<int64_t>(2500L)))
                {
                    auto tmp0 = at::vec::VectorizedN<double,2>::loadu(in_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(4L));
                    tmp0.store(out_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(4L));
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
                        auto tmp0 = in_ptr1[static_cast<int64_t>(x0)];
                        auto tmp9 = at::vec::VectorizedN<int64_t,2>::loadu(in_ptr2 + static_cast<int64_t>(x1), static_cast<int64_t>(16));
                        auto tmp21 = at::vec::VectorizedN<int64_t,2>::loadu(in_ptr3 + static_cast<int64_t>(x1), static_cast<int64_t>(16));
                        auto tmp30 = in_ptr4[static_cast<int64_t>(0L)];
                        auto tmp36 = at::vec::VectorizedN<double,2>::loadu(in_ptr5 + static_cast<int64_t>(x1 + 45L*x0), static_cast<int64_t>(16));
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
                        auto tmp28 = static_cast<double>(0.0);
                        auto tmp29 = at::vec::VectorizedN<double,2>(tmp28);
                        auto tmp31 = static_cast<double>(1.0);
                        auto tmp32 = double(tmp30 * tmp31);
                        auto tmp33 = decltype(tmp32)(-tmp32);
                        auto tmp34 = static_cast<double>(0.5);
                        auto tmp35 = double(tmp33 * tmp34);
                        auto tmp37 = at::vec::VectorizedN<double,2>(tmp35);
                        auto tmp38 = tmp37 * tmp36;
                        auto tmp39 = tmp38 + tmp38;
                        auto tmp40 =
                        [&]
                        {
                            __at_align__ std::array<double, 16> tmpbuf;
                            #pragma GCC unroll 16
                            for (long x1_inner = 0; x1_inner < static_cast<int64_t>(16); x1_inner++)
                            {
                                tmpbuf[x1_inner] = in_ptr0[static_cast<int64_t>(tmp18[x1_inner] + 10L*tmp25[x1_inner] + 100L*tmp5)];
                            }
                            return at::vec::VectorizedN<double,2>::loadu(tmpbuf.data(), static_cast<int64_t>(16));
                        }
                        ()
                        ;
                        auto tmp41 = tmp39 + tmp40;
                        [&]
                        {
                            __at_align__ std::array<double, 16> tmpbuf;
                            tmp29.store(tmpbuf.data(), static_cast<int64_t>(16));
                            #pragma GCC unroll 16
                            for (long x1_inner = 0; x1_inner < static_cast<int64_t>(16); x1_inner++)
                            {
                                out_ptr0[static_cast<int64_t>(tmp18[x1_inner] + 10L*tmp25[x1_inner] + 100L*tmp5)] = tmpbuf[x1_inner];
                            }
                        }
                        ()
                        ;
                        tmp41.store(out_ptr1 + static_cast<int64_t>(x1 + 45L*x0), static_cast<int64_t>(16));
                    }
                    if(C10_UNLIKELY(x1 >= static_cast<int64_t>(32L) && x1 < static_cast<int64_t>(45L)))
                    {
                        auto tmp0 = in_ptr1[static_cast<int64_t>(x0)];
                        auto tmp9 = at::vec::VectorizedN<int64_t,2>::loadu(in_ptr2 + static_cast<int64_t>(x1), static_cast<int64_t>(13L));
                        auto tmp21 = at::vec::VectorizedN<int64_t,2>::loadu(in_ptr3 + static_cast<int64_t>(x1), static_cast<int64_t>(13L));
                        auto tmp30 = in_ptr4[static_cast<int64_t>(0L)];
                        auto tmp36 = at::vec::VectorizedN<double,2>::loadu(in_ptr5 + static_cast<int64_t>(x1 + 45L*x0), static_cast<int64_t>(13L));
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
                        auto tmp28 = static_cast<double>(0.0);
                        auto tmp29 = at::vec::VectorizedN<double,2>(tmp28);
                        auto tmp31 = static_cast<double>(1.0);
                        auto tmp32 = double(tmp30 * tmp31);
                        auto tmp33 = decltype(tmp32)(-tmp32);
                        auto tmp34 = static_cast<double>(0.5);
                        auto tmp35 = double(tmp33 * tmp34);
                        auto tmp37 = at::vec::VectorizedN<double,2>(tmp35);
                        auto tmp38 = tmp37 * tmp36;
                        auto tmp39 = tmp38 + tmp38;
                        auto tmp40 =
                        [&]
                        {
                            __at_align__ std::array<double, 16> tmpbuf;
                            #pragma GCC unroll 16
                            for (long x1_inner = 0; x1_inner < static_cast<int64_t>(13L); x1_inner++)
                            {
                                tmpbuf[x1_inner] = in_ptr0[static_cast<int64_t>(tmp18[x1_inner] + 10L*tmp25[x1_inner] + 100L*tmp5)];
                            }
                            return at::vec::VectorizedN<double,2>::loadu(tmpbuf.data(), static_cast<int64_t>(13L));
                        }
                        ()
                        ;
                        auto tmp41 = tmp39 + tmp40;
                        [&]
                        {
                            __at_align__ std::array<double, 16> tmpbuf;
                            tmp29.store(tmpbuf.data(), static_cast<int64_t>(13L));
                            #pragma GCC unroll 16
                            for (long x1_inner = 0; x1_inner < static_cast<int64_t>(13L); x1_inner++)
                            {
                                out_ptr0[static_cast<int64_t>(tmp18[x1_inner] + 10L*tmp25[x1_inner] + 100L*tmp5)] = tmpbuf[x1_inner];
                            }
                        }
                        ()
                        ;
                        tmp41.store(out_ptr1 + static_cast<int64_t>(x1 + 45L*x0), static_cast<int64_t>(13L));
                    }
                }
            }
        }
    }
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(25L); x0+=static_cast<int64_t>(16L))
        {
            {
                double tmp_acc0 = 0;
                at::vec::VectorizedN<double,2> tmp_acc0_vec = at::vec::VectorizedN<double,2>(0);
                for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(1000L); x1+=static_cast<int64_t>(1L))
                {
                    {
                        if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(16L)))
                        {
                            auto tmp0 = in_ptr4[static_cast<int64_t>(0L)];
                            auto tmp3 = at::vec::VectorizedN<double,2>::loadu(in_ptr6 + static_cast<int64_t>(x0 + 25L*x1), static_cast<int64_t>(16));
                            auto tmp1 = static_cast<double>(1.0);
                            auto tmp2 = double(tmp0 * tmp1);
                            auto tmp4 = at::vec::VectorizedN<double,2>(tmp2);
                            auto tmp5 = tmp4 * tmp3;
                            tmp_acc0_vec = tmp_acc0_vec + tmp5;
                        }
                        if(C10_UNLIKELY(x0 >= static_cast<int64_t>(16L) && x0 < static_cast<int64_t>(25L)))
                        {
                            auto tmp0 = in_ptr4[static_cast<int64_t>(0L)];
                            auto tmp3 = at::vec::VectorizedN<double,2>::loadu(in_ptr6 + static_cast<int64_t>(x0 + 25L*x1), static_cast<int64_t>(9L));
                            auto tmp1 = static_cast<double>(1.0);
                            auto tmp2 = double(tmp0 * tmp1);
                            auto tmp4 = at::vec::VectorizedN<double,2>(tmp2);
                            auto tmp5 = tmp4 * tmp3;
                            tmp_acc0_vec = sum_masked_reduce(tmp_acc0_vec, tmp5, static_cast<int64_t>(9L));
                        }
                    }
                }
                if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(16L)))
                {
                    tmp_acc0_vec.store(out_ptr2 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
                }
                if(C10_UNLIKELY(x0 >= static_cast<int64_t>(16L) && x0 < static_cast<int64_t>(25L)))
                {
                    tmp_acc0_vec.store(out_ptr2 + static_cast<int64_t>(x0), static_cast<int64_t>(9L));
                }
            }
            {
                if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(16L)))
                {
                    auto tmp0 = in_ptr4[static_cast<int64_t>(0L)];
                    auto tmp6 = at::vec::VectorizedN<double,2>::loadu(in_ptr7 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
                    auto tmp7 = in_ptr8[static_cast<int64_t>(0L)];
                    auto tmp13 = at::vec::VectorizedN<double,2>::loadu(out_ptr2 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
                    auto tmp1 = static_cast<double>(1.0);
                    auto tmp2 = double(tmp0 * tmp1);
                    auto tmp3 = decltype(tmp2)(-tmp2);
                    auto tmp4 = static_cast<double>(1000.0);
                    auto tmp5 = double(tmp3 * tmp4);
                    auto tmp8 = at::vec::VectorizedN<double,2>(tmp7);
                    auto tmp9 = tmp6 - tmp8;
                    auto tmp10 = tmp9.exp();
                    auto tmp11 = at::vec::VectorizedN<double,2>(tmp5);
                    auto tmp12 = tmp11 * tmp10;
                    auto tmp14 = tmp12 + tmp13;
                    tmp14.store(out_ptr3 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
                }
                if(C10_UNLIKELY(x0 >= static_cast<int64_t>(16L) && x0 < static_cast<int64_t>(25L)))
                {
                    auto tmp0 = in_ptr4[static_cast<int64_t>(0L)];
                    auto tmp6 = at::vec::VectorizedN<double,2>::loadu(in_ptr7 + static_cast<int64_t>(x0), static_cast<int64_t>(9L));
                    auto tmp7 = in_ptr8[static_cast<int64_t>(0L)];
                    auto tmp13 = at::vec::VectorizedN<double,2>::loadu(out_ptr2 + static_cast<int64_t>(x0), static_cast<int64_t>(9L));
                    auto tmp1 = static_cast<double>(1.0);
                    auto tmp2 = double(tmp0 * tmp1);
                    auto tmp3 = decltype(tmp2)(-tmp2);
                    auto tmp4 = static_cast<double>(1000.0);
                    auto tmp5 = double(tmp3 * tmp4);
                    auto tmp8 = at::vec::VectorizedN<double,2>(tmp7);
                    auto tmp9 = tmp6 - tmp8;
                    auto tmp10 = tmp9.exp();
                    auto tmp11 = at::vec::VectorizedN<double,2>(tmp5);
                    auto tmp12 = tmp11 * tmp10;
                    auto tmp14 = tmp12 + tmp13;
                    tmp14.store(out_ptr3 + static_cast<int64_t>(x0), static_cast<int64_t>(9L));
                }
            }
            for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(10L); x1+=static_cast<int64_t>(16L))
            {
                {
                    if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(16L) && x1 >= static_cast<int64_t>(0L) && x1 < static_cast<int64_t>(10L)))
                    {
                        for (long x0_inner = 0; x0_inner < static_cast<int64_t>(16); x0_inner++)
                        {
                            auto tmp0 = at::vec::VectorizedN<double,2>::loadu(in_ptr9 + static_cast<int64_t>(x1 + 10L*x0 + 10L*x0_inner), static_cast<int64_t>(10L));
                            auto tmp2 = in_ptr4[static_cast<int64_t>(0L)];
                            auto tmp17 = out_ptr2[static_cast<int64_t>(x0 + x0_inner)];
                            auto tmp20 =
                            [&]
                            {
                                __at_align__ std::array<double, 16> tmpbuf;
                                #pragma GCC unroll 16
                                for (long x1_inner = 0; x1_inner < static_cast<int64_t>(10L); x1_inner++)
                                {
                                    tmpbuf[x1_inner] = out_ptr0[static_cast<int64_t>(11L*x1 + 11L*x1_inner + 100L*x0 + 100L*x0_inner)];
                                }
                                return at::vec::VectorizedN<double,2>::loadu(tmpbuf.data(), static_cast<int64_t>(10L));
                            }
                            ()
                            ;
                            auto tmp1 = tmp0.exp();
                            auto tmp3 = static_cast<double>(1.0);
                            auto tmp4 = double(tmp2 * tmp3);
                            auto tmp5 = decltype(tmp4)(-tmp4);
                            auto tmp6 = static_cast<double>(0.5);
                            auto tmp7 = double(tmp5 * tmp6);
                            auto tmp8 = static_cast<double>(2.0);
                            auto tmp9 = at::vec::VectorizedN<double,2>(tmp8);
                            auto tmp10 = tmp1 * tmp9;
                            auto tmp11 = at::vec::VectorizedN<double,2>(tmp7);
                            auto tmp12 = tmp11 * tmp10;
                            auto tmp13 = tmp12 * tmp1;
                            auto tmp14 = static_cast<double>(0.0);
                            auto tmp15 = at::vec::VectorizedN<double,2>(tmp14);
                            auto tmp16 = tmp15 + tmp13;
                            auto tmp18 = at::vec::VectorizedN<double,2>(tmp17);
                            auto tmp19 = tmp16 + tmp18;
                            auto tmp21 = tmp20 * tmp1;
                            auto tmp22 = tmp19 + tmp21;
                            tmp22.store(in_out_ptr0 + static_cast<int64_t>(x1 + 10L*x0 + 10L*x0_inner), static_cast<int64_t>(10L));
                        }
                    }
                    if(C10_UNLIKELY(x0 >= static_cast<int64_t>(16L) && x0 < static_cast<int64_t>(25L) && x1 >= static_cast<int64_t>(0L) && x1 < static_cast<int64_t>(10L)))
                    {
                        for (long x0_inner = 0; x0_inner < static_cast<int64_t>(9L); x0_inner++)
                        {
                            auto tmp0 = at::vec::VectorizedN<double,2>::loadu(in_ptr9 + static_cast<int64_t>(x1 + 10L*x0 + 10L*x0_inner), static_cast<int64_t>(10L));
                            auto tmp2 = in_ptr4[static_cast<int64_t>(0L)];
                            auto tmp17 = out_ptr2[static_cast<int64_t>(x0 + x0_inner)];
                            auto tmp20 =
                            [&]
                            {
                                __at_align__ std::array<double, 16> tmpbuf;
                                #pragma GCC unroll 16
                                for (long x1_inner = 0; x1_inner < static_cast<int64_t>(10L); x1_inner++)
                                {
                                    tmpbuf[x1_inner] = out_ptr0[static_cast<int64_t>(11L*x1 + 11L*x1_inner + 100L*x0 + 100L*x0_inner)];
                                }
                                return at::vec::VectorizedN<double,2>::loadu(tmpbuf.data(), static_cast<int64_t>(10L));
                            }
                            ()
                            ;
                            auto tmp1 = tmp0.exp();
                            auto tmp3 = static_cast<double>(1.0);
                            auto tmp4 = double(tmp2 * tmp3);
                            auto tmp5 = decltype(tmp4)(-tmp4);
                            auto tmp6 = static_cast<double>(0.5);
                            auto tmp7 = double(tmp5 * tmp6);
                            auto tmp8 = static_cast<double>(2.0);
                            auto tmp9 = at::vec::VectorizedN<double,2>(tmp8);
                            auto tmp10 = tmp1 * tmp9;
                            auto tmp11 = at::vec::VectorizedN<double,2>(tmp7);
                            auto tmp12 = tmp11 * tmp10;
                            auto tmp13 = tmp12 * tmp1;
                            auto tmp14 = static_cast<double>(0.0);
                            auto tmp15 = at::vec::VectorizedN<double,2>(tmp14);
                            auto tmp16 = tmp15 + tmp13;
                            auto tmp18 = at::vec::VectorizedN<double,2>(tmp17);
                            auto tmp19 = tmp16 + tmp18;
                            auto tmp21 = tmp20 * tmp1;
                            auto tmp22 = tmp19 + tmp21;
                            tmp22.store(in_out_ptr0 + static_cast<int64_t>(x1 + 10L*x0 + 10L*x0_inner), static_cast<int64_t>(10L));
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


cpp_fused_neg_permute_squeeze_sum_view_2 = async_compile.cpp_pybinding(['const double*', 'double*'], r'''
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  kernel(const double* in_ptr0,
                       double* out_ptr0)
{
    std::atomic<int> inductor_cpu_integer_div_error{0};
    inductor_cpu_integer_div_error_flag = &inductor_cpu_integer_div_error;
    {
        #pragma GCC ivdep
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(25L); x0+=static_cast<int64_t>(1L))
        {
            for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(10L); x1+=static_cast<int64_t>(16L))
            {
                {
                    double tmp_acc0 = 0;
                    at::vec::VectorizedN<double,2> tmp_acc0_vec = at::vec::VectorizedN<double,2>(0);
                    for(int64_t x2=static_cast<int64_t>(0L); x2<static_cast<int64_t>(1000L); x2+=static_cast<int64_t>(1L))
                    {
                        {
                            if(C10_LIKELY(x1 >= static_cast<int64_t>(0L) && x1 < static_cast<int64_t>(10L)))
                            {
                                auto tmp0 = at::vec::VectorizedN<double,2>::loadu(in_ptr0 + static_cast<int64_t>(x1 + 10L*x2 + 10000L*x0), static_cast<int64_t>(10L));
                                auto tmp1 = tmp0.neg();
                                tmp_acc0_vec = sum_masked_reduce(tmp_acc0_vec, tmp1, static_cast<int64_t>(10L));
                            }
                        }
                    }
                    if(C10_UNLIKELY(x1 >= static_cast<int64_t>(0L) && x1 < static_cast<int64_t>(10L)))
                    {
                        tmp_acc0_vec.store(out_ptr0 + static_cast<int64_t>(x1 + 10L*x0), static_cast<int64_t>(10L));
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
        primals_2, primals_3, primals_4, unsqueeze_2, unsqueeze_3, unsqueeze_4, bmm, unsqueeze_10, exp_5, permute_7, permute_8, tangents_1 = args
        args.clear()
        assert_size_stride(tangents_1, (), (), 'input')
        assert_size_stride(exp_5, (1000, 25), (25, 1), 'input')
        assert_size_stride(bmm, (25, 1000, 10), (10000, 10, 1), 'input')
        buf3 = empty_strided_cpu((1000, 25, 10), (250, 10, 1), torch.float64)
        assert_size_stride(permute_7, (25, 10, 1000), (10, 1, 250), 'input')
        cpp_fused_add_expand_mul_neg_permute_unsqueeze_view_0(tangents_1, exp_5, bmm, buf3)
        del bmm
        buf4 = empty_strided_cpu((25, 10, 10), (100, 10, 1), torch.float64)
        # Topologically Sorted Source Nodes: [mul_7, expand_1, unsqueeze_11, mul_10, neg_3, mul_18, unsqueeze_13, expand_5, z, mul_19, add_7, view_6, permute_6, view_7, bmm_1], Original ATen: [aten.mul, aten.expand, aten.unsqueeze, aten.neg, aten.view, aten.permute, aten.add, aten.bmm]
        extern_kernels.bmm(permute_7, reinterpret_tensor(buf3, (25, 1000, 10), (10, 250, 1), 0), out=buf4)
        del permute_7
        buf7 = empty_strided_cpu((25, 10, 10), (100, 1, 10), torch.float64)
        assert_size_stride(unsqueeze_2, (25, 1), (1, 1), 'input')
        assert_size_stride(unsqueeze_3, (1, 45), (45, 1), 'input')
        assert_size_stride(unsqueeze_4, (1, 45), (45, 1), 'input')
        assert_size_stride(primals_4, (25, 45), (45, 1), 'input')
        buf9 = empty_strided_cpu((25, 45), (45, 1), torch.float64)
        assert_size_stride(primals_3, (25, ), (1, ), 'input')
        assert_size_stride(unsqueeze_10, (1, ), (1, ), 'input')
        assert_size_stride(primals_2, (25, 10), (10, 1), 'input')
        buf1 = empty_strided_cpu((1, 25), (25, 1), torch.float64)
        buf2 = empty_strided_cpu((25, ), (1, ), torch.float64)
        buf0 = empty_strided_cpu((25, 10), (10, 1), torch.float64)
        buf10 = buf0; del buf0  # reuse
        assert_size_stride(permute_8, (25, 10, 10), (100, 10, 1), 'input')
        cpp_fused_add_diag_embed_diagonal_exp_expand_index_index_put_mul_neg_permute_pow_squeeze_sub_sum_unsqueeze_view_zeros_1(buf10, buf4, unsqueeze_2, unsqueeze_3, unsqueeze_4, tangents_1, primals_4, exp_5, primals_3, unsqueeze_10, primals_2, buf7, buf9, buf1, buf2)
        del buf1
        del buf4
        del buf7
        del exp_5
        del primals_2
        del primals_3
        del primals_4
        del tangents_1
        del unsqueeze_10
        del unsqueeze_2
        del unsqueeze_3
        del unsqueeze_4
        buf5 = empty_strided_cpu((25, 1000, 10), (10000, 10, 1), torch.float64)
        # Topologically Sorted Source Nodes: [mul_7, expand_1, unsqueeze_11, mul_10, neg_3, mul_18, unsqueeze_13, expand_5, z, mul_19, add_7, view_6, permute_6, view_7, bmm_2], Original ATen: [aten.mul, aten.expand, aten.unsqueeze, aten.neg, aten.view, aten.permute, aten.add, aten.bmm]
        extern_kernels.bmm(reinterpret_tensor(buf3, (25, 1000, 10), (10, 250, 1), 0), permute_8, out=buf5)
        del buf3
        del permute_8
        buf6 = empty_strided_cpu((1, 25, 10), (250, 10, 1), torch.float64)
        cpp_fused_neg_permute_squeeze_sum_view_2(buf5, buf6)
        return (None, buf10, buf2, buf9, reinterpret_tensor(buf6, (25, 10), (10, 1), 0), )

runner = Runner(partitions=[])
call = runner.call
recursively_apply_fns = runner.recursively_apply_fns


def get_args():
    from torch._dynamo.testing import rand_strided
    primals_2 = rand_strided((25, 10), (10, 1), device='cpu', dtype=torch.float64)
    primals_3 = rand_strided((25, ), (1, ), device='cpu', dtype=torch.float64)
    primals_4 = rand_strided((25, 45), (45, 1), device='cpu', dtype=torch.float64)
    unsqueeze_2 = rand_strided((25, 1), (1, 1), device='cpu', dtype=torch.int64)
    unsqueeze_3 = rand_strided((1, 45), (45, 1), device='cpu', dtype=torch.int64)
    unsqueeze_4 = rand_strided((1, 45), (45, 1), device='cpu', dtype=torch.int64)
    bmm = rand_strided((25, 1000, 10), (10000, 10, 1), device='cpu', dtype=torch.float64)
    unsqueeze_10 = rand_strided((1, ), (1, ), device='cpu', dtype=torch.float64)
    exp_5 = rand_strided((1000, 25), (25, 1), device='cpu', dtype=torch.float64)
    permute_7 = rand_strided((25, 10, 1000), (10, 1, 250), device='cpu', dtype=torch.float64)
    permute_8 = rand_strided((25, 10, 10), (100, 10, 1), device='cpu', dtype=torch.float64)
    tangents_1 = rand_strided((), (), device='cpu', dtype=torch.float64)
    return [primals_2, primals_3, primals_4, unsqueeze_2, unsqueeze_3, unsqueeze_4, bmm, unsqueeze_10, exp_5, permute_7, permute_8, tangents_1]


def benchmark_compiled_module(args, times=10, repeat=10):
    from torch._inductor.utils import print_performance
    fn = lambda: call(list(args))
    return print_performance(fn, times=times, repeat=repeat, device='cpu')


if __name__ == "__main__":
    from torch._inductor.wrapper_benchmark import compiled_module_main
    args = get_args()
    compiled_module_main('None', lambda times, repeat: benchmark_compiled_module(args, times=times, repeat=repeat))
