// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesText, momentText, narrowName, percentText, sentenceText, separated, shortName, timeText } from "./format.ts";

test("times have four digits and the unit that fits", () => {
  assert.equal(timeText(0), "0 ns");
  assert.equal(timeText(812), "812 ns");
  assert.equal(timeText(1234), "1.234 µs");
  assert.equal(timeText(56_700_000), "56.70 ms");
  assert.equal(timeText(3_250_000_000), "3.250 s");
});

test("moments a pixel apart have different texts", () => {
  assert.notEqual(momentText(1_000_000_000, 10), momentText(1_000_000_010, 10));
  assert.equal(momentText(5_000_000, 1_000_000), "5 ms");
});

test("a small share is not said to be none", () => {
  assert.equal(percentText(1, 100_000), "< 0.1 %");
  assert.equal(percentText(0, 100), "0.0 %");
  assert.equal(percentText(1, 8), "12.5 %");
});

test("bytes have binary units", () => {
  assert.equal(bytesText(512), "512 B");
  assert.equal(bytesText(1536), "1.50 KiB");
  assert.equal(bytesText(-(1 << 30)), "-1.00 GiB");
});

test("kernel names are shortened to what tells them apart", () => {
  const long = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, at::detail::Array<char*, 1> >(int, float)";
  assert.equal(shortName(long), "vectorized_elementwise_kernel<FillFunctor…>");
  const copy = "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}> >(int)";
  assert.equal(shortName(copy), "elementwise_kernel<direct_copy_kernel_cuda…>");
  const foreach = (op: string) => `void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::BinaryOpScalarFunctor<float, 1, 1, 0>, ${op}<float>, float>(int)`;
  assert.equal(shortName(foreach("std::plus")), "multi_tensor_apply_kernel<plus…>");
  assert.equal(shortName(foreach("std::multiplies")), "multi_tensor_apply_kernel<multiplies…>");
  assert.equal(shortName("void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_nn_align1>(cutlass_80_simt_sgemm_64x64_8x5_nn_align1::Params)"), "cutlass_80_simt_sgemm_64x64_8x5_nn_align1");
  assert.equal(shortName("void (anonymous namespace)::softmax_warp_forward<float, float, 10>(float*, int)"), "softmax_warp_forward<…>");
  assert.equal(shortName("<built-in method item of Tensor object at 0x7f00>"), "<built-in method item of Tensor object>");
  assert.equal(shortName("aten::mm"), "aten::mm");
  assert.equal(shortName("ampere_sgemm_128x64_tn"), "ampere_sgemm_128x64_tn");
  assert.equal(shortName("torch/nn/modules/module.py(1501): _call_impl"), "torch/nn/modules/module.py(1501): _call_impl");
  assert.equal(shortName("autograd::engine::evaluate_function: MulBackward0"), "autograd::engine::evaluate_function: MulBackward0");
});

test("what a program wrote into a name stays", () => {
  for (const name of ["thread 433 (pt_autograd_0)", "evaluation (epoch 12) of model A", "forward(batch=17, microbatch=3)"]) assert.equal(shortName(name), name);
  assert.equal(shortName(""), "(no name)");
  assert.equal(shortName("scale_kernel(float*, float const*, int)"), "scale_kernel");
});

test("names that were cut off are shortened as well", () => {
  assert.equal(shortName("void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIter…"), "elementwise_kernel<direct_copy_kernel_cuda…>");
});

test("sentences of the library get the page's units", () => {
  assert.equal(sentenceText("210 of 282 kernels take less than 10.000 us."), "210 of 282 kernels take less than 10.000 µs.");
  assert.equal(sentenceText("let us 1 use it"), "let us 1 use it");
});

test("where there is little room, the function is shown rather than its file", () => {
  assert.equal(narrowName("torch/nn/modules/module.py(1783): _call_impl"), "_call_impl");
  assert.equal(narrowName("nn.Module: Block_0"), "Block_0");
  assert.equal(narrowName("<built-in method run_backward of torch._C._EngineBase object at 0x7f>"), "run_backward");
  assert.equal(narrowName("aten::mm"), "mm");
  assert.equal(narrowName("forward"), "forward");
});

test("names of Python's objects are shortened by where they lay", () => {
  assert.equal(shortName("<built-in method run_backward of torch._C._EngineBase object at 0x7fe1e839c800>"), "<built-in method run_backward of torch._C._EngineBase object>");
});

test("hours are thousands of seconds, in groups", () => {
  assert.equal(timeText(14_400e9), "14,400 s");
  assert.equal(timeText(3_599.9e9), "3,600 s");
  assert.equal(momentText(12_345.678e9, 1e6), "12,345.678 s");
  assert.equal(timeText(-1_500e9), "-1,500 s");
});

test("tables are copied as text or as CSV, in which no name is a formula", () => {
  const rows = [["Name", "Total (ns)"], ['say "a, b"', -12], ["=HYPERLINK(1)", 3]];
  assert.equal(separated(rows, "\t"), 'Name\tTotal (ns)\nsay "a, b"\t-12\n=HYPERLINK(1)\t3');
  assert.equal(separated(rows, ","), 'Name,Total (ns)\n"say ""a, b""",-12\n\'=HYPERLINK(1),3');
});
