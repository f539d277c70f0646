"""TensorFlow's sampled softmax with its update, one turn for each line of standard input.

Started by ``output_side.py`` with the Python of an environment that has TensorFlow:

    python benchmarks/tensorflow_worker.py adam CLASSES POSITIONS DIMENSIONS SAMPLED THREADS

Prints its version when ready, then "done" after every turn. A turn is the forward pass of
``tf.nn.sampled_softmax_loss`` over distinct uniform samples, its gradients, and a step of Keras's
Adam or of plain gradient descent (``sgd``), in one compiled graph.
"""

import argparse
import sys

OPTIMIZERS = {"adam": "Adam", "sgd": "SGD"}
NUMBERS = ("classes", "positions", "dimensions", "sampled", "threads")


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("optimizer", choices=OPTIMIZERS)
    for name in NUMBERS:
        parser.add_argument(name, type=int, metavar=name.upper())
    return parser.parse_args()


def main() -> None:
    """Set up, then run a turn for each line."""
    options = parse_arguments()
    import tensorflow as tf  # not needed for --help

    classes, positions, dimensions, sampled, threads = (getattr(options, n) for n in NUMBERS)
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.random.set_seed(0)
    context = tf.Variable(tf.random.normal((positions, dimensions)))
    table = tf.Variable(0.1 * tf.random.normal((classes, dimensions)))
    bias = tf.Variable(tf.zeros((classes,)))
    targets = tf.random.uniform((positions, 1), maxval=classes, dtype=tf.int64)
    optimizer = getattr(tf.keras.optimizers, OPTIMIZERS[options.optimizer])(0.001)
    optimizer.build([table, bias])

    @tf.function
    def turn() -> tf.Tensor:
        drawn = tf.random.uniform_candidate_sampler(targets, 1, sampled, True, classes)
        with tf.GradientTape() as tape:
            losses = tf.nn.sampled_softmax_loss(
                table, bias, targets, context, sampled, classes, sampled_values=drawn
            )
            loss = tf.reduce_sum(losses)
        *gradients, of_context = tape.gradient(loss, [table, bias, context])
        optimizer.apply_gradients(zip(gradients, [table, bias], strict=True))
        return loss + tf.reduce_sum(of_context)

    turn().numpy()
    print(tf.__version__, flush=True)
    for _ in sys.stdin:
        turn().numpy()
        print("done", flush=True)


if __name__ == "__main__":
    main()
