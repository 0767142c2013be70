package dev.verbena.walk;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.MulticastMembership;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.IndirectionTable;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.ReceiveBatch;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendBatch;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.WorkQueue;
import dev.verbena.verbs.XrcDomain;
import dev.verbena.verbs.address.Gid;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/** What the model knows of an arena, or of an object of the library. */
abstract sealed class Node {
    /** Stands for all threads. */
    static final int ALL = -1;

    final String name;
    /** The only actor that may use the object, or {@link #ALL}. */
    final int owner;
    /** The library's object. */
    final Object handle;

    boolean open = true;
    final List<Thing> dependents = new ArrayList<>();

    private Node(String name, int owner, Object handle) {
        this.name = name;
        this.owner = owner;
        this.handle = handle;
    }

    boolean isAccessibleBy(int actor) {
        return owner == ALL || owner == actor;
    }

    @Override
    public String toString() {
        return name;
    }

    static final class ArenaNode extends Node {
        final VerbsArena arena;
        /** The open objects that the arena owns, the oldest first. */
        final List<Thing> things = new ArrayList<>();

        final List<Block> blocks = new ArrayList<>();

        ArenaNode(String name, int owner, VerbsArena arena) {
            super(name, owner, arena);
            this.arena = arena;
        }
    }

    /** Memory of an arena, and the bytes that must be in it. */
    static final class Block {
        final String name;
        final ArenaNode arena;
        final MemorySegment segment;
        /** The same memory for all threads; it is read only while the arena is open. */
        final MemorySegment view;

        final byte[] mirror;

        Block(String name, ArenaNode arena, MemorySegment segment) {
            this.name = name;
            this.arena = arena;
            this.segment = segment;
            this.view = MemorySegment.ofAddress(segment.address()).reinterpret(segment.byteSize());
            this.mirror = new byte[(int) segment.byteSize()];
        }

        @Override
        public String toString() {
            return name;
        }
    }

    /** An object of the library. */
    abstract static sealed class Thing extends Node {
        final ArenaNode arena;
        final List<Node> parents;
        final VerbsObject object;
        /** Asks the object for something that only an open object gives. */
        final Callable<?> touch;

        /** Makes a node. What is null is no parent. */
        private Thing(String name, ArenaNode arena, VerbsObject object, Callable<?> touch, @Nullable Node... parents) {
            super(name, arena.owner, object);
            this.arena = arena;
            this.object = object;
            this.touch = touch;
            this.parents = new ArrayList<>(Arrays.asList(parents));
            this.parents.removeIf(Objects::isNull);
        }
    }

    /** An asynchronous event, of a port if it names no queue pair. */
    record Raised(AsyncEvent.Type type, @Nullable PairNode pair) {}

    static final class ContextNode extends Thing {
        final Context context;
        /** The asynchronous events that the program has not taken, the oldest first. */
        final ArrayDeque<Raised> raised = new ArrayDeque<>();

        ContextNode(String name, ArenaNode arena, Context context) {
            super(name, arena, context, context::attributes);
            this.context = context;
        }
    }

    static final class DomainNode extends Thing {
        final ContextNode context;
        final ProtectionDomain domain;
        private final @Nullable DomainNode base;

        DomainNode(
                String name, ArenaNode arena, ContextNode context, @Nullable DomainNode base, ProtectionDomain domain) {
            super(name, arena, domain, domain::context, base == null ? context : base);
            this.context = context;
            this.base = base;
            this.domain = domain;
        }

        DomainNode root() {
            return base == null ? this : base;
        }
    }

    static final class ChannelNode extends Thing {
        final ContextNode context;
        final CompletionChannel channel;
        /** Events that C holds. */
        final ArrayDeque<QueueNode> events = new ArrayDeque<>();

        final LinkedHashSet<QueueNode> ready = new LinkedHashSet<>();

        ChannelNode(String name, ArenaNode arena, ContextNode context, CompletionChannel channel) {
            super(name, arena, channel, channel::context, context);
            this.context = context;
            this.channel = channel;
        }
    }

    static final class QueueNode extends Thing {
        final ContextNode context;
        final @Nullable ChannelNode channel;
        final CompletionQueue queue;
        final boolean extended;
        final ArrayDeque<Done> done = new ArrayDeque<>();
        int capacity;
        /** 0, 1 for any completion, 2 for solicited ones. */
        int asked;

        QueueNode(
                String name,
                ArenaNode arena,
                ContextNode context,
                @Nullable ChannelNode channel,
                boolean extended,
                int capacity,
                CompletionQueue queue) {
            super(name, arena, queue, queue::capacity, context, channel);
            this.context = context;
            this.channel = channel;
            this.extended = extended;
            this.capacity = capacity;
            this.queue = queue;
        }
    }

    /** The receives of a queue pair, or of a shared receive queue. */
    static final class Receives {
        final ArrayDeque<Request> pending = new ArrayDeque<>();
        final int depth;
        int posted;

        Receives(int depth) {
            this.depth = depth;
        }

        int room() {
            return depth - pending.size();
        }
    }

    static final class SharedReceivesNode extends Thing {
        final DomainNode domain;
        final SharedReceiveQueue queue;
        final Receives receives;

        SharedReceivesNode(String name, ArenaNode arena, DomainNode domain, int depth, SharedReceiveQueue queue) {
            super(name, arena, queue, queue::capabilities, domain);
            this.domain = domain;
            this.queue = queue;
            this.receives = new Receives(depth);
        }
    }

    static final class PathNode extends Thing {
        final DomainNode domain;
        final AddressHandle path;

        PathNode(String name, ArenaNode arena, DomainNode domain, AddressHandle path) {
            super(name, arena, path, path::path, domain);
            this.domain = domain;
            this.path = path;
        }
    }

    static final class PairNode extends Thing {
        final DomainNode domain;
        final QueueNode sendQueue;
        final QueueNode receiveQueue;
        final @Nullable SharedReceivesNode shared;
        final QueuePair pair;
        final boolean datagrams;
        /** True for an unreliable connection: its sends do not learn what becomes of them. */
        final boolean unreliable;

        final boolean extended;
        final int number;
        final int sendDepth;
        final int sendPieces;
        final int inlineSize;
        final ArrayDeque<Request> sends = new ArrayDeque<>();
        final Receives own;
        QueuePairState state = QueuePairState.RESET;
        /** The state before the queue pair failed on its own. */
        QueuePairState before = QueuePairState.RESET;
        /** True once the program has seen that the queue pair failed. */
        boolean failureKnown;
        /** True while the queue pair's sends are carried out. */
        boolean busy;

        int postedSends;
        /** Counts resets. */
        int epoch;

        int peer;
        /** The count of resets of the peer when the queue pair was connected to it. */
        int peerEpoch;

        int qkey;

        PairNode(
                String name,
                ArenaNode arena,
                DomainNode domain,
                QueueNode sendQueue,
                QueueNode receiveQueue,
                @Nullable SharedReceivesNode shared,
                QueuePair pair) {
            super(name, arena, pair, pair::number, domain, sendQueue, receiveQueue, shared);
            this.domain = domain;
            this.sendQueue = sendQueue;
            this.receiveQueue = receiveQueue;
            this.shared = shared;
            this.pair = pair;
            this.datagrams = pair.type() == dev.verbena.verbs.device.QueuePairType.UD;
            this.unreliable = pair.type() == dev.verbena.verbs.device.QueuePairType.UC;
            this.extended = pair.isExtended();
            this.number = pair.number();
            this.sendDepth = pair.capabilities().sendDepth();
            this.sendPieces = pair.capabilities().sendSge();
            this.inlineSize = pair.capabilities().inlineSize();
            this.own = new Receives(pair.capabilities().receiveDepth());
        }

        /** The multicast groups that the queue pair is attached to. */
        final Set<Gid> groups = new HashSet<>();

        Receives receives() {
            return shared == null ? own : shared.receives;
        }

        boolean takesSends() {
            return state == QueuePairState.RTS || state == QueuePairState.ERR;
        }
    }

    static final class RegionNode extends Thing {
        final DomainNode domain;
        final Block block;
        final Set<AccessFlag> access;
        final MemoryRegion region;
        final int key;
        final RemoteMemory remote;
        /** A slice that was made while the region was open. */
        final LocalMemory slice;
        /** The windows that were bound to the region, now or once. */
        final Set<WindowNode> remembered = new LinkedHashSet<>();

        static final int SLICE_START = 8;
        static final int SLICE_LENGTH = 16;

        RegionNode(String name, ArenaNode arena, DomainNode domain, Block block, MemoryRegion region) {
            super(name, arena, region, region::length, domain, block.arena == arena ? null : block.arena);
            this.domain = domain;
            this.block = block;
            this.region = region;
            this.access = region.access();
            this.key = region.remoteKey();
            this.remote = region.remote();
            this.slice = region.slice(SLICE_START, SLICE_LENGTH);
        }

        long length() {
            return block.mirror.length;
        }
    }

    static final class WindowNode extends Thing {
        final DomainNode domain;
        final MemoryWindow window;
        final boolean second;
        int key;
        /** The last range that the program bound, or null. */
        @Nullable
        RemoteMemory remote;
        /** The region of the last range that the program bound, or null. */
        @Nullable
        RegionNode wanted;
        /** The region that C has bound, or null. */
        @Nullable
        RegionNode bound;

        long address;
        long length;
        Set<AccessFlag> access = Set.of();

        WindowNode(String name, ArenaNode arena, DomainNode domain, MemoryWindow window) {
            super(name, arena, window, window::remoteKey, domain);
            this.domain = domain;
            this.window = window;
            this.second = window.type() == MemoryWindow.Type.TYPE_2;
            this.key = window.remoteKey();
        }
    }

    static final class WorkQueueNode extends Thing {
        final DomainNode domain;
        final QueueNode completions;
        final WorkQueue queue;
        final int depth;
        /** The ids of the receives that C has, the oldest first. */
        final ArrayDeque<Long> pending = new ArrayDeque<>();

        WorkQueue.State state = WorkQueue.State.RESET;

        WorkQueueNode(
                String name, ArenaNode arena, DomainNode domain, QueueNode completions, int depth, WorkQueue queue) {
            super(name, arena, queue, queue::state, domain, completions);
            this.domain = domain;
            this.completions = completions;
            this.depth = depth;
            this.queue = queue;
        }
    }

    static final class TableNode extends Thing {
        final ContextNode context;
        final IndirectionTable table;

        TableNode(
                String name, ArenaNode arena, ContextNode context, Set<WorkQueueNode> entries, IndirectionTable table) {
            super(name, arena, table, table::queues, entries.toArray(Node[]::new));
            parents.add(context);
            this.context = context;
            this.table = table;
        }
    }

    static final class XrcDomainNode extends Thing {
        final ContextNode context;
        final XrcDomain domain;

        XrcDomainNode(String name, ArenaNode arena, ContextNode context, XrcDomain domain) {
            super(name, arena, domain, domain::context, context);
            this.context = context;
            this.domain = domain;
        }
    }

    /** A shared receive queue of an XRC domain. */
    static final class XrcReceivesNode extends Thing {
        final SharedReceiveQueue queue;
        final int depth;
        int pending;

        XrcReceivesNode(
                String name,
                ArenaNode arena,
                DomainNode domain,
                XrcDomainNode of,
                QueueNode completions,
                int depth,
                SharedReceiveQueue queue) {
            super(name, arena, queue, queue::number, domain, of, completions);
            this.queue = queue;
            this.depth = depth;
        }
    }

    /** A queue pair that only receives, or only sends: of an XRC domain, or with a table. */
    static final class HalfPairNode extends Thing {
        final QueuePair pair;

        HalfPairNode(String name, ArenaNode arena, DomainNode domain, Node other, QueuePair pair) {
            super(name, arena, pair, pair::number, domain, other);
            this.pair = pair;
        }
    }

    /** The membership of an id in a group. */
    static final class MembershipNode extends Thing {
        final MulticastMembership membership;

        MembershipNode(String name, ArenaNode arena, IdNode id, MulticastMembership membership) {
            super(name, arena, membership, membership::target, id, id.pair);
            this.membership = membership;
        }
    }

    static final class EventChannelNode extends Thing {
        final EventChannel channel;
        /** Events that C holds. */
        final ArrayDeque<Peers.Event> inC = new ArrayDeque<>();
        /** Events that were taken from C, in the order in which the program gets them. */
        final List<Peers.Event> order = new ArrayList<>();
        /** The contexts and domains that were made for ids of the channel. */
        final List<Thing> adopted = new ArrayList<>();

        EventChannelNode(String name, ArenaNode arena, EventChannel channel) {
            super(name, arena, channel, channel::pollEvent);
            this.channel = channel;
        }

        boolean holds(Peers.End end) {
            return first(end) != null || inC.stream().anyMatch(each -> each.end() == end);
        }

        Peers.@Nullable Event first(Peers.End end) {
            return order.stream().filter(each -> each.end() == end).findFirst().orElse(null);
        }
    }

    static final class IdNode extends Thing {
        final ConnectionId id;
        final Peers.End end;
        EventChannelNode channel;

        @Nullable
        IdPairNode pair;

        IdNode(String name, ArenaNode arena, EventChannelNode channel, Peers.End end, ConnectionId id) {
            super(name, arena, id, id::portSpace, channel);
            this.id = id;
            this.end = end;
            this.channel = channel;
            end.id = this;
        }

        void move(EventChannelNode to) {
            List<Peers.Event> own =
                    channel.order.stream().filter(each -> each.end() == end).toList();
            channel.order.removeAll(own);
            to.order.addAll(own);
            channel.dependents.remove(this);
            to.dependents.add(this);
            parents.remove(channel);
            parents.add(to);
            channel = to;
        }
    }

    /** A queue pair of an id. */
    static final class IdPairNode extends Thing {
        final IdNode id;
        final DomainNode domain;
        final QueueNode queue;
        final QueuePair pair;
        QueuePairState state = QueuePairState.INIT;

        /** Makes a node. A queue pair for datagrams can send at once. */
        IdPairNode(String name, ArenaNode arena, DomainNode domain, QueueNode queue, IdNode id, QueuePair pair) {
            super(name, arena, pair, pair::number, domain, queue, id);
            this.id = id;
            this.domain = domain;
            this.queue = queue;
            this.pair = pair;
            if (id.end.datagrams) {
                state = QueuePairState.RTS;
            }
        }
    }

    /** A batch or a cursor: a tool of the first thread that uses it. */
    abstract static sealed class Tool {
        final String name;
        final Thing of;
        /** The actor that used the tool first, or {@link #ALL} for nobody. */
        int claimant = ALL;

        private Tool(String name, Thing of) {
            this.name = name;
            this.of = of;
        }

        /** Returns the faults of a use. */
        Faults faults(int actor) {
            return new Faults(actor)
                    .needs(of)
                    .when(
                            of.open && claimant != ALL && claimant != actor,
                            WrongThreadException.class,
                            this,
                            " is of another thread");
        }

        /** Notes a use, which may have been refused for another reason. */
        void used(int actor) {
            if (of.open && of.isAccessibleBy(actor) && claimant == ALL) {
                claimant = actor;
            }
        }

        @Override
        public String toString() {
            return name;
        }
    }

    static final class SendBatchNode extends Tool {
        final PairNode pair;
        final SendBatch batch;
        final List<Request> requests = new ArrayList<>();

        SendBatchNode(String name, PairNode pair, SendBatch batch) {
            super(name, pair);
            this.pair = pair;
            this.batch = batch;
        }
    }

    static final class ReceiveBatchNode extends Tool {
        final ReceiveBatch batch;
        final @Nullable PairNode pair;
        final DomainNode domain;
        final Receives receives;
        final List<Request> requests = new ArrayList<>();

        ReceiveBatchNode(
                String name,
                Thing of,
                @Nullable PairNode pair,
                DomainNode domain,
                Receives receives,
                ReceiveBatch batch) {
            super(name, of);
            this.pair = pair;
            this.domain = domain;
            this.receives = receives;
            this.batch = batch;
        }
    }

    static final class CursorNode extends Tool {
        final QueueNode queue;
        final Completions cursor;
        final int max;
        /** Completions that were fetched and not read. */
        final ArrayDeque<Done> unread = new ArrayDeque<>();

        CursorNode(String name, QueueNode queue, int max, Completions cursor) {
            super(name, queue);
            this.queue = queue;
            this.max = max;
            this.cursor = cursor;
        }
    }
}
