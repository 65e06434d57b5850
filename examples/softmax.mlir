// A graph by hand: softmax along rows. What README.md's examples compile,
// evaluate and run.
//
//   poot-compile softmax.mlir -o softmax.poot
//   poot-run softmax.poot --entry softmax --input x=x.npy
//   poot-eval softmax.mlir --input=x=x.npy

func.func @softmax(%x: tensor<4x16xf32> {graph.name = "x"})
    -> (tensor<4x16xf32> {graph.name = "y"}) {
  %max = graph.reduce max %x dims [1] : tensor<4x16xf32> -> tensor<4xf32>
  %shift = graph.broadcast %max dims [0] : tensor<4xf32> -> tensor<4x16xf32>
  %centred = graph.binary sub %x, %shift : tensor<4x16xf32>
  %exp = graph.unary exp %centred : tensor<4x16xf32>
  %sum = graph.reduce sum %exp dims [1] : tensor<4x16xf32> -> tensor<4xf32>
  %scale = graph.broadcast %sum dims [0] : tensor<4xf32> -> tensor<4x16xf32>
  %y = graph.binary div %exp, %scale : tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}
