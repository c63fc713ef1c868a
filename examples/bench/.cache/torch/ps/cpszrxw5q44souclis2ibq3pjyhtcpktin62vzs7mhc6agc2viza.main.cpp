
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
        if(PyTuple_GET_SIZE(args) != 14) [[unlikely]]
            throw std::runtime_error("requires 14 args");
        kernel(parse_arg<double*>(args, 0), parse_arg<double*>(args, 1), parse_arg<double*>(args, 2), parse_arg<double*>(args, 3), parse_arg<double*>(args, 4), parse_arg<double*>(args, 5), parse_arg<double*>(args, 6), parse_arg<double*>(args, 7), parse_arg<double*>(args, 8), parse_arg<double*>(args, 9), parse_arg<double*>(args, 10), parse_arg<double*>(args, 11), parse_arg<double*>(args, 12), parse_arg<double*>(args, 13)); Py_RETURN_NONE;
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
