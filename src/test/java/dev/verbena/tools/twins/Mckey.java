package dev.verbena.tools.twins;

import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.IbAddress;
import dev.verbena.cm.MulticastMembership;
import dev.verbena.cm.PortSpace;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.Tool;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GlobalRoute;
import java.io.PrintStream;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Joins a multicast group and sends datagrams to it or receives them. Interoperates with {@code mckey} of rdma-core.
 */
final class Mckey extends CmTool {
    private static final String USAGE = """
            usage: verbena mckey -m GROUP|-M GID [-s] [-b ADDRESS] [-c COUNT] [-C COUNT]
                     [-S SIZE] [-p SPACE] [-o] [-l]
              -m GROUP    the address of the multicast group
              -M GID      instead of -m: the GID of an InfiniBand group without an IP
                          address; needs -b
              -s          send; without -s, receive
              -b ADDRESS  local address
              -c COUNT    number of memberships (default: 1)
              -C COUNT    number of messages (default: 10)
              -S SIZE     bytes of a message (default: 100)
              -p SPACE    port space: 0x111 for UDP (default), 0x2 for IPoIB
              -o          join as a send-only member
              -l          do not receive one's own messages, if the device supports it""";

    /** Time for switches to learn of a new member. */
    private static final long LEARNING_SECONDS = 3;

    private final PortSpace space;
    private final @Nullable Gid gid;

    private Mckey(String[] args, PrintStream out) {
        super("mckey", Options.parse(args, USAGE, 0), out);
        if (options.has("-m") == options.has("-M")) {
            throw options.usage("either -m GROUP or -M GID is required");
        }
        if (options.has("-M") && !options.has("-b")) {
            throw options.usage("-M needs -b ADDRESS, which determines the device");
        }
        space = datagramSpace(PortSpace.UDP.code());
        try {
            gid = options.has("-M") ? Gid.parse(options.text("-M", "")) : null;
        } catch (IllegalArgumentException e) {
            throw options.usage("-M: " + e.getMessage());
        }
    }

    static int run(String[] args, PrintStream out) throws Exception {
        return new Mckey(args, out).run();
    }

    @Override
    PortSpace space() {
        return space;
    }

    @Override
    QueuePairOptions queuePair(CompletionQueue sends, CompletionQueue receives) {
        QueuePairOptions wanted = QueuePair.ud(sends, receives);
        return options.has("-l") ? wanted.flags(QueuePairOptions.Flag.BLOCK_SELF_MULTICAST) : wanted;
    }

    @Override
    void work() throws Exception {
        boolean sender = options.has("-s");
        say("starting " + (sender ? "client" : "server"));
        say("joining");
        SocketAddress group = gid != null ? IbAddress.of(gid, space, 0) : address(options.text("-m", ""), 0);
        List<MulticastMembership> memberships = new ArrayList<>();
        for (int i = 0; i < connections; i++) {
            ConnectionId id = newId();
            SocketAddress own = own(0);
            if (own != null && gid != null) {
                id.bind(own);
            } else {
                id.resolveAddress(own, group, RESOLVING);
            }
            CmNode node = makeReady(id);
            MulticastMembership joined = id.join(
                    group,
                    options.has("-o") ? MulticastMembership.Kind.SEND_ONLY : MulticastMembership.Kind.FULL_MEMBER,
                    Tool.PATIENCE);
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
                node.awaitSends(); // leaving the group would drop pending sends
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
