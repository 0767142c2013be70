package dev.verbena.tools;

import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.IbAddress;
import dev.verbena.cm.JoinFlag;
import dev.verbena.cm.MulticastMembership;
import dev.verbena.cm.PortSpace;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairCreateFlag;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GlobalRoute;
import java.io.PrintStream;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Joins a multicast group, and sends to it or receives what is sent, as {@code mckey} of rdma-core does, with which it
 * talks.
 */
final class Mckey extends CmTool {
    private static final String USAGE = """
            usage: verbena mckey -m GROUP|-M GID [-s] [-b ADDRESS] [-c COUNT] [-C COUNT] [-S SIZE] [-p SPACE] [-o] [-l]
              -m GROUP    the address of the multicast group
              -M GID      the GID of a group of InfiniBand's that stands for no address, instead of -m; wants -b
              -s          send; without it, receive
              -b ADDRESS  the own address
              -c COUNT    memberships; 1 if not said
              -C COUNT    messages; 10 if not said
              -S SIZE     bytes of a message; 100 if not said
              -p SPACE    0x111 for UDP, which is so if not said; 0x2 for IPoIB
              -o          join as one that sends only
              -l          do not hear what one sends oneself, where the device can""";

    /** Until switches have learnt of a new member. */
    private static final long LEARNING_SECONDS = 3;

    private Mckey(String[] args, PrintStream out) {
        super(
                "mckey",
                Options.parse(args, USAGE, "-m:", "-M:", "-s", "-b:", "-c:", "-C:", "-S:", "-p:", "-o", "-l"),
                out);
        if (options.has("-m") == options.has("-M")) {
            throw options.usage("either -m GROUP or -M GID must be said");
        }
        if (options.has("-M") && !options.has("-b")) {
            throw options.usage("-M wants -b ADDRESS: only that tells the device");
        }
    }

    static int run(String[] args, PrintStream out) throws Exception {
        return new Mckey(args, out).run();
    }

    @Override
    PortSpace space() {
        return datagramSpace(PortSpace.UDP.code());
    }

    @Override
    QueuePairOptions queuePair(CompletionQueue sends, CompletionQueue receives) {
        QueuePairOptions wanted = QueuePair.ud(sends, receives);
        return options.has("-l") ? wanted.flags(QueuePairCreateFlag.BLOCK_SELF_MULTICAST) : wanted;
    }

    @Override
    void work() throws Exception {
        boolean sender = options.has("-s");
        say("starting " + (sender ? "client" : "server"));
        say("joining");
        SocketAddress group = options.has("-M")
                ? IbAddress.of(Gid.parse(options.text("-M", "")), space(), 0)
                : address(options.text("-m", ""), 0);
        List<MulticastMembership> memberships = new ArrayList<>();
        for (int i = 0; i < connections; i++) {
            ConnectionId id = newId();
            SocketAddress own = own(0);
            if (own != null && options.has("-M")) {
                id.bind(own);
            } else {
                id.resolveAddress(own, group, RESOLVING);
            }
            CmNode node = makeReady(id);
            MulticastMembership joined =
                    id.join(group, options.has("-o") ? JoinFlag.SEND_ONLY : JoinFlag.FULL_MEMBER, PATIENCE);
            memberships.add(joined);
            node.sendTo(joined.target());
            AddressVector path = joined.target().path();
            GlobalRoute route = path.globalRoute();
            say("joined dgid: " + (route == null ? Gid.ZERO : route.destination()) + " mlid 0x"
                    + Integer.toHexString(path.destinationLid()) + " sl " + path.serviceLevel());
        }
        if (messages > 0) {
            transfer(sender);
        }
        memberships.forEach(MulticastMembership::close);
    }

    private void transfer(boolean sender) throws InterruptedException {
        if (sender) {
            TimeUnit.SECONDS.sleep(LEARNING_SECONDS);
            print("initiating data transfers");
            nodes().forEach(CmNode::postDatagrams);
            for (CmNode node : nodes()) {
                node.awaitSends(); // leaving would drop those that are on their way out
            }
        } else {
            print("receiving data transfers");
            for (CmNode node : nodes()) {
                node.awaitReceives();
            }
        }
        print("data transfers complete");
    }
}
