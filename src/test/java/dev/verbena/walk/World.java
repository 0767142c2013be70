package dev.verbena.walk;

import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.internal.lifetime.Lifetime;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.support.Fenced;
import dev.verbena.verbs.Device;
import dev.verbena.walk.Node.ArenaNode;
import dev.verbena.walk.Node.Block;
import dev.verbena.walk.Node.ChannelNode;
import dev.verbena.walk.Node.ContextNode;
import dev.verbena.walk.Node.CursorNode;
import dev.verbena.walk.Node.DomainNode;
import dev.verbena.walk.Node.EventChannelNode;
import dev.verbena.walk.Node.HalfPairNode;
import dev.verbena.walk.Node.IdNode;
import dev.verbena.walk.Node.IdPairNode;
import dev.verbena.walk.Node.MembershipNode;
import dev.verbena.walk.Node.PairNode;
import dev.verbena.walk.Node.PathNode;
import dev.verbena.walk.Node.QueueNode;
import dev.verbena.walk.Node.ReceiveBatchNode;
import dev.verbena.walk.Node.RegionNode;
import dev.verbena.walk.Node.SendBatchNode;
import dev.verbena.walk.Node.SharedReceivesNode;
import dev.verbena.walk.Node.TableNode;
import dev.verbena.walk.Node.Thing;
import dev.verbena.walk.Node.Tool;
import dev.verbena.walk.Node.WindowNode;
import dev.verbena.walk.Node.WorkQueueNode;
import dev.verbena.walk.Node.XrcDomainNode;
import dev.verbena.walk.Node.XrcReceivesNode;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The objects of one walk: those of the library, and what the model knows of each. One thread at a time uses it. */
final class World {
    /** The number of open objects of a kind; no more are made. */
    private static final int OPEN = 8;

    /** The number of closed objects of a kind that are kept, to be used after they were closed. */
    private static final int CLOSED = 4;

    private static final int CHECK_ALL_EVERY = 16;

    /** Prints each step before it runs: for walks that crash the virtual machine. */
    private static final boolean TRACES = Boolean.getBoolean("dev.verbena.walk.trace");

    final Device device;
    final Wire wire = new Wire();
    final List<ArenaNode> arenas = new ArrayList<>();
    final List<Block> blocks = new ArrayList<>();
    final List<ContextNode> contexts = new ArrayList<>();
    final List<DomainNode> domains = new ArrayList<>();
    final List<ChannelNode> channels = new ArrayList<>();
    final List<QueueNode> queues = new ArrayList<>();
    final List<PairNode> pairs = new ArrayList<>();
    final List<SharedReceivesNode> sharedReceives = new ArrayList<>();
    final List<PathNode> paths = new ArrayList<>();
    final List<RegionNode> regions = new ArrayList<>();
    final List<WindowNode> windows = new ArrayList<>();
    final List<SendBatchNode> sendBatches = new ArrayList<>();
    final List<ReceiveBatchNode> receiveBatches = new ArrayList<>();
    final List<CursorNode> cursors = new ArrayList<>();
    final List<Lending.Pool> pools = new ArrayList<>();
    final List<Lending.Cache> caches = new ArrayList<>();
    /** The regions that caches keep: programs take them from the caches only. */
    final List<RegionNode> cached = new ArrayList<>();

    final List<EventChannelNode> eventChannels = new ArrayList<>();
    final List<IdNode> ids = new ArrayList<>();
    /** The requests that the program has taken, the oldest first. */
    final List<Peers.Request> requests = new ArrayList<>();

    final List<IdPairNode> idPairs = new ArrayList<>();
    /** The objects of the connection manager's own context. */
    final List<ContextNode> idContexts = new ArrayList<>();

    final List<DomainNode> idDomains = new ArrayList<>();
    final List<QueueNode> idQueues = new ArrayList<>();
    /** The ids for datagrams. */
    final List<IdNode> datagramIds = new ArrayList<>();

    final List<MembershipNode> memberships = new ArrayList<>();

    final List<WorkQueueNode> workQueues = new ArrayList<>();
    final List<TableNode> tables = new ArrayList<>();
    final List<XrcDomainNode> xrcDomains = new ArrayList<>();
    final List<XrcReceivesNode> xrcReceives = new ArrayList<>();
    final List<HalfPairNode> halfPairs = new ArrayList<>();
    /** The completion queues of work queues and XRC domains. They are empty between steps. */
    final List<QueueNode> rareQueues = new ArrayList<>();

    /** The open objects, the oldest first. */
    final List<Thing> things = new ArrayList<>();

    /** The objects that were closed last. */
    private final List<Thing> closedThings = new ArrayList<>();

    private final List<String> story = new ArrayList<>();
    private final boolean telling;
    private final int violations = Settling.ON_DEVICE ? 0 : Fenced.violations();
    private final Map<String, Integer> events = new TreeMap<>();
    private int names;
    private long lastId;
    private int steps;
    private int refusals;
    private int skipped;

    World(Device device, boolean telling) {
        this.device = device;
        this.telling = telling || TRACES;
    }

    /** Returns the program so far, in words. */
    List<String> story() {
        return story;
    }

    int refusals() {
        return refusals;
    }

    int skipped() {
        return skipped;
    }

    /** Returns how often each event was {@linkplain #note noted}. */
    Map<String, Integer> events() {
        return events;
    }

    // --- running ---

    void run(Step step) {
        steps++;
        if (!run(step.action().body, step)) {
            skipped++;
        }
        check(telling || steps % CHECK_ALL_EVERY == 0);
    }

    /** Says what a step does, for the report. */
    void say(Step step, Supplier<String> words) {
        if (telling) {
            tell("actor " + step.actor() + ": " + words.get());
        }
    }

    private void tell(String line) {
        story.add(line);
        if (TRACES) {
            System.err.println(line);
        }
    }

    /** Carries out a step or a part of one. Returns false if it found nothing to work with. */
    boolean run(Action.Body body, Step step) {
        try {
            body.run(this, step);
            return true;
        } catch (Skipped nothing) {
            return false;
        }
    }

    /** Ends a step that finds nothing to work with. */
    static final class Skipped extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private Skipped() {
            super(null, null, false, false);
        }
    }

    /** Ends the step if something speaks against it. */
    static void skipIf(boolean something) {
        if (something) {
            throw new Skipped();
        }
    }

    private static <T> T orSkip(@Nullable T chosen) {
        skipIf(chosen == null);
        return Objects.requireNonNull(chosen);
    }

    /** Notes that a rare event has happened, so that a test can tell that walks come so far. */
    void note(String event) {
        events.merge(event, 1, Integer::sum);
    }

    /** Calls the library; returns null if the call was refused for one of the faults, as it must be if there are any. */
    <T> @Nullable T call(Faults faults, Callable<T> call) {
        T result;
        try {
            result = call.call();
        } catch (WalkFailure failure) {
            throw failure;
        } catch (Exception | Error exception) {
            if (faults.isEmpty()) {
                throw new WalkFailure("The call must succeed and threw " + exception, exception);
            }
            if (!faults.explain(exception)) {
                throw new WalkFailure(
                        "The call must be refused (" + faults + ") and threw another exception: " + exception,
                        exception);
            }
            refusals++;
            if (telling) {
                tell("    refused: " + exception);
            }
            return null;
        }
        if (!faults.isEmpty()) {
            throw new WalkFailure("The call must be refused (" + faults + ") and returned " + result, null);
        }
        return result;
    }

    /** Calls the library; returns false if the call was refused, as it must be if there are faults. */
    boolean run(Faults faults, Runnable call) {
        return call(faults, () -> {
                    call.run();
                    return true;
                })
                != null;
    }

    static void require(boolean holds, Supplier<String> otherwise) {
        if (!holds) {
            throw new WalkFailure(otherwise.get(), null);
        }
    }

    // --- choosing ---

    String name(String kind) {
        names++;
        return kind + names;
    }

    long id() {
        return ++lastId;
    }

    /**
     * Chooses a node. Most often an open one that fits and that the actor may use, now and then any.
     *
     * @return null if there is none
     */
    <N extends Node> @Nullable N choose(List<N> all, int operand, int actor, Predicate<N> fits) {
        if (all.isEmpty()) {
            return null;
        }
        int number = operand >>> 5;
        if ((operand & 31) != 0) {
            List<N> good = new ArrayList<>(all.size());
            for (N each : all) {
                if (each.open && each.isAccessibleBy(actor) && fits.test(each)) {
                    good.add(each);
                }
            }
            if (!good.isEmpty()) {
                return good.get(number % good.size());
            }
            if ((operand & 3) != 0) { // a call that is refused teaches less than one that is not
                return null;
            }
        }
        return all.get(number % all.size());
    }

    <N extends Node> @Nullable N choose(List<N> all, int operand, int actor) {
        return choose(all, operand, actor, each -> true);
    }

    /** Chooses a node, or ends the step if there is none. */
    <N extends Node> N need(List<N> all, int operand, int actor, Predicate<N> fits) {
        return orSkip(choose(all, operand, actor, fits));
    }

    <N extends Node> N need(List<N> all, int operand, int actor) {
        return need(all, operand, actor, each -> true);
    }

    <T extends Tool> T needTool(List<T> all, int operand, int actor) {
        return orSkip(chooseTool(all, operand, actor));
    }

    private <T extends Tool> @Nullable T chooseTool(List<T> all, int operand, int actor) {
        if (all.isEmpty()) {
            return null;
        }
        int number = operand >>> 5;
        if ((operand & 31) != 0) {
            List<T> good = new ArrayList<>(all.size());
            for (T each : all) {
                if (each.of.open
                        && each.of.isAccessibleBy(actor)
                        && (each.claimant == Node.ALL || each.claimant == actor)) {
                    good.add(each);
                }
            }
            if (!good.isEmpty()) {
                return good.get(number % good.size());
            }
            if ((operand & 3) != 0) {
                return null;
            }
        }
        return all.get(number % all.size());
    }

    /** Returns an open or a lately closed object. */
    Thing needThing(int operand, int actor) {
        if ((operand & 31) == 0 && !closedThings.isEmpty()) {
            return closedThings.get((operand >>> 5) % closedThings.size());
        }
        return need(things, operand, actor);
    }

    // --- bookkeeping ---

    static boolean isFull(List<? extends Node> nodes) {
        int open = 0;
        for (Node each : nodes) {
            if (each.open) {
                open++;
            }
        }
        return open >= OPEN;
    }

    static <T extends Tool> void addTool(List<T> tools, T tool) {
        tools.add(tool);
        if (tools.size() > OPEN + CLOSED) {
            T oldest = tools.stream().filter(each -> !each.of.open).findFirst().orElse(tools.getFirst());
            tools.remove(oldest);
        }
    }

    <N extends Node> N add(List<N> nodes, N node) {
        nodes.add(node);
        if (nodes.stream().filter(each -> !each.open).count() > CLOSED) {
            nodes.remove(nodes.stream().filter(each -> !each.open).findFirst().orElseThrow());
        }
        return node;
    }

    <T extends Thing> T born(List<T> nodes, T thing) {
        add(nodes, thing);
        things.add(thing);
        thing.arena.things.add(thing);
        new HashSet<>(thing.parents).forEach(parent -> parent.dependents.add(thing));
        return thing;
    }

    /** Notes that an object was closed. */
    void died(Thing thing) {
        if (!thing.open) {
            return; // with another object
        }
        thing.open = false;
        things.remove(thing);
        thing.arena.things.remove(thing);
        thing.parents.forEach(parent -> parent.dependents.remove(thing));
        closedThings.add(thing);
        if (closedThings.size() > CLOSED * 3) {
            closedThings.removeFirst();
        }
        switch (thing) {
            case PairNode pair -> {
                wire.remove(pair);
                pair.domain.context.raised.removeIf(each -> each.pair() == pair);
            }
            case RegionNode region -> wire.remove(region);
            case WindowNode window -> wire.remove(window);
            case QueueNode queue -> {
                queue.done.clear();
                if (queue.channel != null) {
                    queue.channel.events.removeIf(each -> each == queue);
                    queue.channel.ready.remove(queue);
                }
            }
            case SharedReceivesNode shared -> shared.receives.pending.clear();
            case IdNode id -> Peers.destroyed(id);
            case IdPairNode pair -> pair.id.pair = null;
            case EventChannelNode channel -> channelDied(channel);
            default -> {}
        }
    }

    /** A channel closes the objects that it has made for ids, unless they are in use or of another arena. */
    private void channelDied(EventChannelNode channel) {
        for (Thing adopted : channel.adopted.reversed()) { // domains before contexts
            if (adopted.open && adopted.arena == channel.arena && adopted.dependents.isEmpty()) {
                died(adopted);
            }
        }
    }

    void arenaDied(ArenaNode arena) {
        arena.open = false;
        blocks.removeAll(arena.blocks);
    }

    // --- comparing ---

    void check(boolean all) {
        for (Block block : blocks) {
            if (Settling.ON_DEVICE && Wire.mismatch(block) >= 0) { // requests take time
                Settling.await(block);
            }
            long at = Wire.mismatch(block);
            require(
                    at < 0,
                    () -> "Byte " + at + " of " + block + " is " + block.view.get(ValueLayout.JAVA_BYTE, at)
                            + " and must be " + block.mirror[(int) at]);
        }
        if (!all) {
            return;
        }
        require(Settling.ON_DEVICE || Fenced.violations() == violations, Fenced::firstViolation);
        for (ArenaNode arena : arenas) {
            if (arena.open) {
                checkDependents(arena, ArenaLifetime.of(arena.arena));
                Set<Object> owned = new HashSet<>(ArenaLifetime.of(arena.arena).objects());
                Set<Object> expected = new HashSet<>();
                arena.things.forEach(each -> expected.add(each.object));
                require(owned.equals(expected), () -> arena + " owns " + owned + " and must own " + arena.things);
            }
        }
        for (Thing thing : things) {
            require(thing.object.isOpen(), () -> thing + " must be open");
            checkDependents(thing, ObjectLifetime.of(thing.object));
        }
        for (Thing thing : closedThings) {
            require(!thing.object.isOpen(), () -> thing + " must be closed");
            require(
                    ObjectLifetime.of(thing.object).dependents().isEmpty(),
                    () -> thing + " is closed and must have no dependents");
        }
    }

    private static void checkDependents(Node node, Lifetime guard) {
        List<ObjectLifetime> actual = guard.dependents();
        Set<Object> expected = new HashSet<>();
        node.dependents.forEach(each -> expected.add(ObjectLifetime.of(each.object)));
        require(
                actual.size() == expected.size() && expected.containsAll(actual),
                () -> "The dependents of " + node + " must be " + node.dependents + ", there are " + actual.size());
    }
}
