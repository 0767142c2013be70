package dev.verbena.tools.pingpong;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.ON_DEMAND;

import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.tools.command.Spin;
import dev.verbena.tools.pingpong.PingPong.Kind;
import dev.verbena.tools.pingpong.PingPong.Setting;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionField;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.DeviceMemory;
import dev.verbena.verbs.ExtendedCompletions;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.ReceiveBatch;
import dev.verbena.verbs.RegionOptions;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GlobalRoute;
import dev.verbena.verbs.address.Grh;
import dev.verbena.verbs.device.Port;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One end of a ping-pong: its queue pairs, its memory, and the exchange of messages. */
final class PingPongEnd {
    private static final long RECEIVE = 1;
    private static final long SEND = 2;
    private static final int QKEY = 0x1111_1111;
    private static final int PAGE = 4096;
    private static final byte FILLING = 0x7b;

    /** Time without a completion after which the ping-pong fails: a lost datagram is not sent again. */
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    /** Number of empty polls before yielding: the peer may need this processor. */
    private static final int SPINS = 1_000;

    private final Setting setting;
    private final Port port;
    private final ProtectionDomain domain;
    private final CompletionQueue queue;
    private final Completions done;
    private final @Nullable SharedReceiveQueue shared;
    private final ReceiveBatch receives;
    private final List<Link> links = new ArrayList<>();
    private final @Nullable DeviceMemory deviceMemory;
    private final MemorySegment data;
    private final LocalMemory sent;
    private final LocalMemory received;

    private int posted;
    private long clocks;
    private long clockBefore;
    private long clockSum;
    private long clockLeast = Long.MAX_VALUE;
    private long clockMost;

    /** A queue pair and the state of its exchange. */
    private static final class Link {
        final QueuePair pair;

        @Nullable
        AddressHandle path;

        int peer;
        boolean sending;
        boolean receiving;

        Link(QueuePair pair) {
            this.pair = pair;
        }
    }

    PingPongEnd(Setting setting, Context context) {
        this.setting = setting;
        port = context.port(setting.port());
        if (setting.kind() == Kind.UD && setting.size() > port.activeMtu().bytes()) {
            throw new IllegalArgumentException("a datagram is one packet, limited by the port's MTU of "
                    + port.activeMtu().bytes() + " bytes: -s " + setting.size() + " is too large");
        }
        domain = context.allocateProtectionDomain();
        int header = setting.kind() == Kind.UD ? Grh.BYTES : 0;
        long length = (long) setting.size() + header;
        data = context.arena().allocate(length, PAGE);
        data.fill(FILLING);
        if (setting.check() && !setting.isServer()) {
            for (long page = 0; page < setting.size(); page += PAGE) {
                data.set(ValueLayout.JAVA_BYTE, header + page, (byte) 0);
            }
        }
        Set<AccessFlag> access = EnumSet.of(LOCAL_WRITE);
        if (setting.onDemand()) {
            access.add(ON_DEMAND);
        }
        MemoryRegion region;
        if (setting.deviceMemory()) {
            deviceMemory = context.allocateDeviceMemory(length);
            deviceMemory.write(0, data);
            region = domain.register(RegionOptions.of(deviceMemory, 0, length).access(access));
        } else {
            deviceMemory = null;
            region = setting.implicit()
                    ? domain.registerAddressSpace(access, domain.arena()).region(data)
                    : domain.register(data, access, domain.arena());
        }
        if (setting.prefetch()) {
            prefetch(region);
        }
        received = region;
        sent = region.slice(header, setting.size());

        CompletionQueueOptions options = CompletionQueueOptions.of(setting.depth() + setting.pairs());
        if (setting.events()) {
            options = options.channel(context.createCompletionChannel());
        }
        if (setting.timestamps()) {
            Set<CompletionField> fields = EnumSet.copyOf(CompletionField.standard());
            fields.add(CompletionField.TIMESTAMP);
            options = options.fields(fields);
        }
        queue = context.createCompletionQueue(options);
        done = setting.timestamps()
                ? queue.extendedCompletions(2 * setting.pairs())
                : queue.completions(2 * setting.pairs());
        shared = setting.kind() == Kind.SRQ
                ? domain.createSharedReceiveQueue(SharedReceiveQueue.basic().depth(setting.depth()))
                : null;
        for (int i = 0; i < setting.pairs(); i++) {
            links.add(new Link(domain.createQueuePair(pairOptions())));
        }
        receives = shared == null
                ? links.getFirst().pair.receiveBatch(setting.depth())
                : shared.receiveBatch(setting.depth());
        for (Link link : links) {
            if (setting.kind() == Kind.UD) {
                link.pair.toReady(QKEY);
            } else {
                link.pair.toInit(attributes());
            }
        }
        postReceives();
    }

    /** Asks for the pages of the memory in advance. As in C, a refusal does not end the tool. */
    private void prefetch(MemoryRegion region) {
        try {
            domain.advise(ProtectionDomain.Advice.PREFETCH_WRITE, true, region);
        } catch (VerbsException e) {
            System.err.println("going on without a prefetch: " + e.getMessage());
        }
    }

    private QueuePairOptions pairOptions() {
        QueuePairOptions options = switch (setting.kind()) {
            case RC, SRQ -> QueuePair.rc(queue);
            case UC -> QueuePair.uc(queue);
            case UD -> QueuePair.ud(queue);
        };
        options = options.port(setting.port())
                .gidIndex(setting.gidIndex())
                .sendDepth(1)
                .receiveDepth(setting.depth());
        if (setting.extendedSends()) {
            options = options.operations(QueuePairOptions.OfferedOperation.SEND);
        }
        return shared == null ? options : options.sharedReceiveQueue(shared);
    }

    private QueuePairAttributes attributes() {
        return QueuePairAttributes.none()
                .access(Set.of())
                .pathMtu(setting.mtu())
                .minRnrTimerCode(12)
                .timeoutCode(14)
                .retryCount(7)
                .rnrRetryCount(7)
                .maxReadAtomic(1)
                .maxDestinationReadAtomic(1);
    }

    /** Returns the endpoints to send to the peer. As in C, they have no GID if none is needed or asked for. */
    List<Endpoint> endpoints() {
        boolean global = setting.gidIndex() >= 0 || port.needsGlobalRouting();
        return links.stream()
                .map(link -> link.pair.endpoint())
                .map(mine -> global
                        ? mine
                        : new Endpoint(mine.queuePairNumber(), mine.packetSequenceNumber(), mine.lid(), Gid.ZERO))
                .toList();
    }

    void connect(List<Endpoint> peers) {
        for (int i = 0; i < links.size(); i++) {
            Link link = links.get(i);
            Endpoint peer = peers.get(i);
            if (port.needsGlobalRouting() && peer.gid().isZero()) {
                throw new IllegalStateException("the peer has sent "
                        + (peer.queuePairNumber() == 0
                                ? "fewer queue pairs: both sides need the same -q"
                                : "no GID, which this network needs: start it with -g"));
            }
            link.peer = peer.queuePairNumber();
            if (setting.kind() == Kind.UD) {
                AddressVector path = link.pair.pathTo(peer);
                link.path = domain.createAddressHandle(path.serviceLevel(setting.serviceLevel()));
            } else {
                AddressVector path = link.pair.pathTo(peer).serviceLevel(setting.serviceLevel());
                boolean global = setting.gidIndex() >= 0;
                link.pair.connect(
                        peer,
                        attributes()
                                .addressVector(
                                        global
                                                ? path.globalRoute(GlobalRoute.to(peer.gid(), setting.gidIndex()))
                                                : path));
            }
        }
    }

    private void postReceives() {
        receives.clear();
        while (posted < setting.depth()) {
            receives.receive(RECEIVE, received);
            posted++;
        }
        receives.post();
    }

    /** Sends and receives all messages. The client begins. */
    void play() throws InterruptedException {
        for (Link link : links) {
            link.receiving = true;
            if (!setting.isServer()) {
                send(link);
            }
        }
        int sends = 0;
        int receipts = 0;
        while (sends < setting.iterations() || receipts < setting.iterations()) {
            await(sends, receipts);
            while (done.next()) {
                done.orThrow();
                Link link = link(done.queuePairNumber());
                if (done.id() == SEND) {
                    sends++;
                    link.sending = false;
                } else {
                    receipts++;
                    link.receiving = false;
                    if (--posted <= links.size()) {
                        postReceives();
                    }
                }
                if (done instanceof ExtendedCompletions extended) {
                    clock(extended.timestamp());
                }
                if (!link.sending && !link.receiving && sends < setting.iterations()) {
                    link.receiving = true;
                    send(link);
                }
            }
        }
    }

    private void await(int sends, int receipts) throws InterruptedException {
        if (!setting.events()) {
            if (!Spin.until(() -> done.poll() > 0, SPINS, PATIENCE)) {
                throw nothingCame(sends, receipts);
            }
            return;
        }
        Spin.checkInterrupt(); // also if completions are always there at once
        try {
            done.await(PATIENCE);
        } catch (VerbsTimeoutException over) {
            throw nothingCame(sends, receipts);
        }
    }

    private IllegalStateException nothingCame(int sends, int receipts) {
        return new IllegalStateException("no completion within " + PATIENCE.toSeconds() + " s, after " + sends
                + " sends and " + receipts + " receives: does the peer have the same -n and -s?"
                + (setting.kind() == Kind.UC || setting.kind() == Kind.UD ? " Or was a message lost?" : ""));
    }

    private Link link(int number) {
        for (Link link : links) {
            if (link.pair.number() == number) {
                return link;
            }
        }
        throw new IllegalStateException("completion of an unknown queue pair: " + number);
    }

    private void send(Link link) {
        link.sending = true;
        boolean inline = deviceMemory == null && link.pair.capabilities().inlineSize() >= setting.size();
        AddressHandle path = link.path;
        if (path != null && inline) {
            link.pair.postSendInline(SEND, sent.segment(), path, link.peer, QKEY);
        } else if (path != null) {
            link.pair.postSend(SEND, sent, path, link.peer, QKEY);
        } else if (inline) {
            link.pair.postSendInline(SEND, sent.segment());
        } else {
            link.pair.postSend(SEND, sent);
        }
    }

    private void clock(long now) {
        if (clockBefore != 0) {
            long cycles = now - clockBefore;
            clocks++;
            clockSum += cycles;
            clockLeast = Math.min(clockLeast, cycles);
            clockMost = Math.max(clockMost, cycles);
        }
        clockBefore = now;
    }

    /** Returns the timestamp statistics of {@code -t}. */
    String clockCycles() {
        return String.format(
                Locale.ROOT,
                "Max receive completion clock cycles : %d%n"
                        + "Min receive completion clock cycles : %d%nAverage receive completion clock cycles : %f%n",
                clockMost,
                clockLeast,
                (double) clockSum / Math.max(1, clocks));
    }

    /** Checks the client's marks: a zero at the beginning of each page, and one filler byte between. */
    void check() {
        long header = data.byteSize() - setting.size();
        if (deviceMemory != null) {
            deviceMemory.read(0, data);
        }
        byte filling = setting.size() > 1 ? data.get(ValueLayout.JAVA_BYTE, header + 1) : FILLING;
        for (long i = 0; i < setting.size(); i++) {
            byte expected = i % PAGE == 0 ? 0 : filling;
            byte found = data.get(ValueLayout.JAVA_BYTE, header + i);
            if (found != expected) {
                throw new IllegalStateException("invalid data in page " + i / PAGE + ": byte " + i + " is " + found
                        + ", expected " + expected + (i == 0 ? ": was the client started with -c?" : ""));
            }
        }
    }
}
