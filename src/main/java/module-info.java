/**
 * RDMA verbs for Java: {@code infiniband/verbs.h} and {@code rdma/rdma_cma.h} as idiomatic, Arena-scoped objects.
 *
 * <p>Start with {@link dev.verbena.VerbsArena}, which owns memory and verbs objects, and {@link dev.verbena.verbs.Device},
 * which opens a device. Start Java with {@code --enable-native-access=dev.verbena}, or with {@code ALL-UNNAMED} when the
 * library is on the class path.
 */
@org.jspecify.annotations.NullMarked
module dev.verbena {
    requires jdk.jfr;
    requires jdk.net;
    requires static java.management; // for NodeMXBean, where the program has it
    requires static org.jspecify; // not transitive: a module that uses this one would need it on its path

    exports dev.verbena;
    exports dev.verbena.cm;
    exports dev.verbena.net;
    exports dev.verbena.sockets;
    exports dev.verbena.verbs;
    exports dev.verbena.verbs.address;
    exports dev.verbena.verbs.device;
    exports dev.verbena.verbs.flow;
}
