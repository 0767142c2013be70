package dev.verbena.pair;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Connection;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PrivateData;
import dev.verbena.net.Channel;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.support.Await;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Garbage from the network, while a connection and a listener are in use. */
@PairTest
class GarbageTest {
    private static final int FEW = 20;

    @RegisterExtension
    final Laboratory laboratory = new Laboratory();

    @Test
    void garbageForPrivateDataReachesListenersAndHarmsNoNode() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Listener listener = Listener.open(Laboratory.own(0), arena);
            Node node = Node.open(Laboratory.own(0), arena);
            Conversation peer = laboratory.start(GarbageGreetings.class);
            peer.say("" + listener.address().getPort());
            peer.say("" + node.address().getPort());
            for (int i = 0; i < GarbageGreetings.COUNT; i++) {
                try (Connection request = listener.awaitConnection(DEADLINE)) {
                    assertThat(request.privateData().toBytes()).startsWith(GarbageGreetings.garbage(i));
                    request.reject(PrivateData.NONE);
                }
            }
            assertThat(peer.next()).isEqualTo("refused " + GarbageGreetings.COUNT);
            Channel channel = node.accept(DEADLINE);
            try (Message message = channel.receive(DEADLINE)) {
                assertThat(message.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(GarbageGreetings.VALUE);
            }
            peer.end();
        }
    }

    @Test
    void garbageHarmsNeitherConnectionsNorListeners() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Listener listener = Listener.open(Laboratory.own(0), arena);
            Conversation receiver = laboratory.start(Receiver.class);
            try (Sender sender = new Sender(receiver, null)) {
                assertThat(sender.send(FEW)).isEmpty();
                Conversation garbage = laboratory.start(Garbage.class);
                garbage.say("" + sender.connection.queuePair().number());
                assertThat(sender.send(FEW)).isEmpty();
                assertThat(garbage.next()).isEqualTo("sent");
                assertThat(sender.send(FEW)).isEmpty();
                garbage.end();
                Await.until("the last message", () -> {
                    try {
                        return Receiver.Report.of(receiver).equals(new Receiver.Report(3 * FEW, 0));
                    } catch (java.io.IOException e) {
                        throw new AssertionError(e);
                    }
                });

                Conversation client = laboratory.start(Client.class);
                client.say("" + listener.address().getPort());
                client.say("connect");
                Connection accepted = listener.accept(DEADLINE);
                assertThat(client.next()).startsWith("connected");
                assertThat(accepted.isOpen()).isTrue();
                client.end();
                assertThat(sender.connection.isOpen()).isTrue();
            }
            receiver.end();
        }
    }
}
