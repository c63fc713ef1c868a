
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

// Python bindings to call kernel():
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <sstream>
#include <cstdlib>
#include <cerrno>

// This is defined in guards.cpp so we don't need to import PyTorch headers that are slooow.
// We manually link it below to workaround issues with fbcode build.
static void* (*_torchinductor_pyobject_tensor_data_ptr)(PyObject* obj);

template <typename T> static inline T parse_arg(PyObject* args, size_t n) {
    static_assert(std::is_pointer_v<T>, "arg type must be pointer or long");
    return static_cast<T>(_torchinductor_pyobject_tensor_data_ptr(PyTuple_GET_ITEM(args, n)));
}
template <> inline int64_t parse_arg<int64_t>(PyObject* args, size_t n) {
    auto result = PyLong_AsSsize_t(PyTuple_GET_ITEM(args, n));
    if(result == -1 && PyErr_Occurred()) [[unlikely]]
        throw std::runtime_error("expected int arg");
    return result;
}
template <> inline uintptr_t parse_arg<uintptr_t>(PyObject* args, size_t n) {
    auto result = PyLong_AsVoidPtr(PyTuple_GET_ITEM(args, n));
    if(result == reinterpret_cast<void*>(-1) && PyErr_Occurred()) [[unlikely]]
        throw std::runtime_error("expected int arg");
    return reinterpret_cast<uintptr_t>(result);
}
template <> inline float parse_arg<float>(PyObject* args, size_t n) {
    auto result = PyFloat_AsDouble(PyTuple_GET_ITEM(args, n));
    if(result == -1.0 && PyErr_Occurred()) [[unlikely]]
        throw std::runtime_error("expected float arg");
    return static_cast<float>(result);
}



static PyObject* kernel_py(PyObject* self, PyObject* args) {
    try {
        if(!PyTuple_CheckExact(args)) [[unlikely]]
            throw std::runtime_error("tuple args required");
        if(PyTuple_GET_SIZE(args) != 29) [[unlikely]]
            throw std::runtime_error("requires 29 args");
        kernel(parse_arg<double*>(args, 0), parse_arg<int64_t*>(args, 1), parse_arg<int64_t*>(args, 2), parse_arg<double*>(args, 3), parse_arg<double*>(args, 4), parse_arg<double*>(args, 5), parse_arg<int64_t*>(args, 6), parse_arg<int64_t*>(args, 7), parse_arg<int64_t*>(args, 8), parse_arg<int64_t*>(args, 9), parse_arg<int64_t*>(args, 10), parse_arg<int64_t*>(args, 11), parse_arg<int64_t*>(args, 12), parse_arg<int64_t*>(args, 13), parse_arg<int64_t*>(args, 14), parse_arg<int64_t*>(args, 15), parse_arg<int64_t*>(args, 16), parse_arg<int64_t*>(args, 17), parse_arg<int64_t*>(args, 18), parse_arg<int64_t*>(args, 19), parse_arg<int64_t*>(args, 20), parse_arg<int64_t*>(args, 21), parse_arg<int64_t*>(args, 22), parse_arg<int64_t*>(args, 23), parse_arg<double*>(args, 24), parse_arg<double*>(args, 25), parse_arg<double*>(args, 26), parse_arg<int64_t*>(args, 27), parse_arg<double*>(args, 28)); Py_RETURN_NONE;
    } catch(std::exception const& e) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
        return nullptr;
    } catch(...) {
        PyErr_SetString(PyExc_RuntimeError, "unhandled error");
        return nullptr;
    }
}

static PyMethodDef py_methods[] = {
    {"kernel", kernel_py, METH_VARARGS, ""},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef py_module =
    {PyModuleDef_HEAD_INIT, "kernel", NULL, -1, py_methods};

PyMODINIT_FUNC PyInit_kernel(void) {
    const char* str_addr = std::getenv("_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR");
    if(!str_addr) {
        PyErr_SetString(PyExc_RuntimeError, "_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR must be set");
        return nullptr;
    }

    char* endptr = nullptr;
    errno = 0;
    uintptr_t addr = std::strtoull(str_addr, &endptr, 10);
    if(errno != 0 || endptr == str_addr || addr == 0) {
        PyErr_SetString(PyExc_RuntimeError, "Failed to parse _TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR");
        return nullptr;
    }
    _torchinductor_pyobject_tensor_data_ptr =
        reinterpret_cast<decltype(_torchinductor_pyobject_tensor_data_ptr)>(addr);
    PyObject* module = PyModule_Create(&py_module);
    if (module == NULL) {
        return NULL;
    }
    #ifdef Py_GIL_DISABLED
        PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
    #endif
    return module;
}
