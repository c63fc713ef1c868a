
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
        if(PyTuple_GET_SIZE(args) != 15) [[unlikely]]
            throw std::runtime_error("requires 15 args");
        kernel(parse_arg<double*>(args, 0), parse_arg<double*>(args, 1), parse_arg<int64_t*>(args, 2), parse_arg<int64_t*>(args, 3), parse_arg<int64_t*>(args, 4), parse_arg<double*>(args, 5), parse_arg<double*>(args, 6), parse_arg<double*>(args, 7), parse_arg<double*>(args, 8), parse_arg<double*>(args, 9), parse_arg<double*>(args, 10), parse_arg<double*>(args, 11), parse_arg<double*>(args, 12), parse_arg<double*>(args, 13), parse_arg<double*>(args, 14)); Py_RETURN_NONE;
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
