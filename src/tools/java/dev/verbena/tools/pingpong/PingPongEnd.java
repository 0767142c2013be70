package dev.verbena.tools.pingpong;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.ON_DEMAND;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.Spin;
import dev.verbena.tools.pingpong.PingPong.Kind;
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
import dev.verbena.verbs.device.Mtu;
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

    private final Kind kind;
    private final Options options;
    private final int gidIndex;
    private final int size;
    private final int iterations;
    private final int depth;
    private final int serviceLevel;
    private final Mtu mtu;
    private final int pairs;
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

    /**
     * Reads the options, and prepares an end.
     *
     * @throws Options.UsageException if an option is wrong; the device is not opened then
     */
    PingPongEnd(Kind kind, Options options, VerbsArena arena) {
        this.kind = kind;
        this.options = options;
        int portNumber = options.number("-i", 1, 1, 255);
        gidIndex = options.number("-g", -1, -1, 255);
        size = options.number("-s", kind == Kind.UD ? 1024 : 4096, 1, Integer.MAX_VALUE - 4096);
        iterations = options.number("-n", 1000, 1, Integer.MAX_VALUE);
        depth = options.number("-r", 500, 1, 1 << 20);
        serviceLevel = options.number("-l", 0, 0, 15);
        mtu = mtu(options);
        pairs = options.number("-q", kind == Kind.SRQ ? 16 : 1, 1, PingPong.MAX_PAIRS);
        boolean onDemand = options.has("-o") || options.has("-O");
        options.check(kind != Kind.SRQ || depth >= pairs, "-r must be at least the number of queue pairs, " + pairs);
        options.check(!onDemand || !options.has("-j"), "device memory (-j) can't be paged on demand (-o, -O)");
        options.check(onDemand || !options.has("-P"), "-P is for memory that is paged on demand: give -o or -O, too");

        Context context = options.device().open(arena);
        port = context.port(portNumber);
        if (kind == Kind.UD && size > port.activeMtu().bytes()) {
            throw new IllegalArgumentException("a datagram is one packet, limited by the port's MTU of "
                    + port.activeMtu().bytes() + " bytes: -s " + size + " is too large");
        }
        domain = context.allocateProtectionDomain();
        int header = kind == Kind.UD ? Grh.BYTES : 0;
        long length = (long) size + header;
        data = context.arena().allocate(length, PAGE);
        data.fill(FILLING);
        if (options.has("-c") && isClient()) {
            for (long page = 0; page < size; page += PAGE) {
                data.set(ValueLayout.JAVA_BYTE, header + page, (byte) 0);
            }
        }
        Set<AccessFlag> access = EnumSet.of(LOCAL_WRITE);
        if (onDemand) {
            access.add(ON_DEMAND);
        }
        MemoryRegion region;
        if (options.has("-j")) {
            deviceMemory = context.allocateDeviceMemory(length);
            deviceMemory.write(0, data);
            region = domain.register(RegionOptions.of(deviceMemory, 0, length).access(access));
        } else {
            deviceMemory = null;
            region = options.has("-O")
                    ? domain.registerAddressSpace(access, domain.arena()).region(data)
                    : domain.register(data, access, domain.arena());
        }
        if (options.has("-P")) {
            prefetch(region);
        }
        received = region;
        sent = region.slice(header, size);

        CompletionQueueOptions ofQueue = CompletionQueueOptions.of(depth + pairs);
        if (options.has("-e")) {
            ofQueue = ofQueue.channel(context.createCompletionChannel());
        }
        if (options.has("-t")) {
            Set<CompletionField> fields = EnumSet.copyOf(CompletionField.standard());
            fields.add(CompletionField.TIMESTAMP);
            ofQueue = ofQueue.fields(fields);
        }
        queue = context.createCompletionQueue(ofQueue);
        done = options.has("-t") ? queue.extendedCompletions(2 * pairs) : queue.completions(2 * pairs);
        shared = kind == Kind.SRQ
                ? domain.createSharedReceiveQueue(SharedReceiveQueue.basic().depth(depth))
                : null;
        for (int i = 0; i < pairs; i++) {
            links.add(new Link(domain.createQueuePair(pairOptions())));
        }
        receives = shared == null ? links.getFirst().pair.receiveBatch(depth) : shared.receiveBatch(depth);
        for (Link link : links) {
            if (kind == Kind.UD) {
                link.pair.toReady(QKEY);
            } else {
                link.pair.toInit(attributes());
            }
        }
        postReceives();
    }

    private static Mtu mtu(Options options) {
        try {
            return Mtu.ofBytes(options.number("-m", 1024, 0, Integer.MAX_VALUE));
        } catch (IllegalArgumentException e) {
            throw options.usage(String.valueOf(e.getMessage()));
        }
    }

    private boolean isClient() {
        return !options.operand(0).isEmpty();
    }

    int size() {
        return size;
    }

    int iterations() {
        return iterations;
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
        QueuePairOptions ofPair = switch (kind) {
            case RC, SRQ -> QueuePair.rc(queue);
            case UC -> QueuePair.uc(queue);
            case UD -> QueuePair.ud(queue);
        };
        ofPair = ofPair.port(port.number()).gidIndex(gidIndex).sendDepth(1).receiveDepth(depth);
        if (options.has("-N")) {
            ofPair = ofPair.operations(QueuePairOptions.OfferedOperation.SEND);
        }
        return shared == null ? ofPair : ofPair.sharedReceiveQueue(shared);
    }

    private QueuePairAttributes attributes() {
        return QueuePairAttributes.none()
                .access(Set.of())
                .pathMtu(mtu)
                .minRnrTimerCode(12)
                .timeoutCode(14)
                .retryCount(7)
                .rnrRetryCount(7)
                .maxReadAtomic(1)
                .maxDestinationReadAtomic(1);
    }

    /** Returns the endpoints to send to the peer. As in C, they have no GID if none is needed or asked for. */
    List<Endpoint> endpoints() {
        boolean global = gidIndex >= 0 || port.needsGlobalRouting();
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
            if (kind == Kind.UD) {
                AddressVector path = link.pair.pathTo(peer);
                link.path = domain.createAddressHandle(path.serviceLevel(serviceLevel));
            } else {
                AddressVector path = link.pair.pathTo(peer).serviceLevel(serviceLevel);
                boolean global = gidIndex >= 0;
                link.pair.connect(
                        peer,
                        attributes()
                                .addressVector(global ? path.globalRoute(GlobalRoute.to(peer.gid(), gidIndex)) : path));
            }
        }
    }

    private void postReceives() {
        receives.clear();
        while (posted < depth) {
            receives.receive(RECEIVE, received);
            posted++;
        }
        receives.post();
    }

    /** Sends and receives all messages. The client begins. */
    void play() throws InterruptedException {
        for (Link link : links) {
            link.receiving = true;
            if (isClient()) {
                send(link);
            }
        }
        int sends = 0;
        int receipts = 0;
        while (sends < iterations || receipts < iterations) {
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
                if (!link.sending && !link.receiving && sends < iterations) {
                    link.receiving = true;
                    send(link);
                }
            }
        }
    }

    private void await(int sends, int receipts) throws InterruptedException {
        if (!options.has("-e")) {
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
                + (kind == Kind.UC || kind == Kind.UD ? " Or was a message lost?" : ""));
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
        boolean inline = deviceMemory == null && link.pair.capabilities().inlineSize() >= size;
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
        long header = data.byteSize() - size;
        if (deviceMemory != null) {
            deviceMemory.read(0, data);
        }
        byte filling = size > 1 ? data.get(ValueLayout.JAVA_BYTE, header + 1) : FILLING;
        for (long i = 0; i < size; i++) {
            byte expected = i % PAGE == 0 ? 0 : filling;
            byte found = data.get(ValueLayout.JAVA_BYTE, header + i);
            if (found != expected) {
                throw new IllegalStateException("invalid data in page " + i / PAGE + ": byte " + i + " is " + found
                        + ", expected " + expected + (i == 0 ? ": was the client started with -c?" : ""));
            }
        }
    }
}
