package dev.verbena.support;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.util.List;

/**
 * A program with a node at each of two addresses. Each node calls itself, and is called by a node that is opened towards
 * it. The program prints the device of the caller and the name that is answered. The two devices of the test guest have no
 * wire between them.
 */
public final class NodesOnTwoDevices {
    private NodesOnTwoDevices() {}

    public static void main(String[] addresses) throws InterruptedException {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            List<Node> nodes = List.of(answering(addresses[0], arena), answering(addresses[1], arena));
            for (Node each : nodes) {
                ask(each, each);
                ask(Node.openTowards(each.address(), arena), each);
            }
        }
    }

    private static String device(Node node) {
        return node.context().device().name();
    }

    private static Node answering(String own, VerbsArena arena) {
        Node node = Node.open(new InetSocketAddress(own, 0), arena);
        String name = device(node);
        node.listen((channel, request) -> {
            Message reply = request.reply().length(64);
            reply.segment().setString(0, name);
            reply.send();
        });
        return node;
    }

    private static void ask(Node from, Node to) throws InterruptedException {
        try (Channel channel = from.connect(to.address(), Loopback.DEADLINE)) {
            Message request = channel.message(Loopback.DEADLINE).length(1);
            request.segment().set(ValueLayout.JAVA_BYTE, 0, (byte) '?');
            try (Message reply = channel.call(request, Loopback.DEADLINE)) {
                System.out.println(device(from) + " to " + reply.segment().getString(0));
            }
        }
    }
}
