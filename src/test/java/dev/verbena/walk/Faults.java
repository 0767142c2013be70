package dev.verbena.walk;

import dev.verbena.ResourceBusyException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/** The reasons for which a call must be refused. A call without faults must succeed; else one of them must be named. */
final class Faults {
    private record Fault(Class<? extends RuntimeException> type, String reason, Predicate<Throwable> more) {}

    private final int actor;
    private final List<Fault> faults = new ArrayList<>(4);

    Faults(int actor) {
        this.actor = actor;
    }

    /** The call needs objects that are open and that the thread may use. */
    Faults needs(Node... nodes) {
        for (Node node : nodes) {
            mayUse(node).state(!node.open, node, " is closed");
        }
        return this;
    }

    /** The call needs an object that the thread may use. */
    Faults mayUse(Node node) {
        return when(!node.isAccessibleBy(actor), WrongThreadException.class, node, " is of another thread");
    }

    Faults state(boolean applies, Object subject, String reason) {
        return when(applies, IllegalStateException.class, subject, reason);
    }

    Faults argument(boolean applies, Object subject, String reason) {
        return when(applies, IllegalArgumentException.class, subject, reason);
    }

    Faults bounds(boolean applies, Object subject, String reason) {
        return when(applies, IndexOutOfBoundsException.class, subject, reason);
    }

    Faults when(boolean applies, Class<? extends RuntimeException> type, Object subject, String reason) {
        if (applies) {
            faults.add(new Fault(type, subject + reason, exception -> true));
        }
        return this;
    }

    /** Closing must be refused, and these must be named. */
    Faults busy(Node subject, List<? extends Node> dependents) {
        if (!dependents.isEmpty()) {
            Set<Object> named = new HashSet<>();
            dependents.forEach(each -> named.add(each.handle));
            faults.add(new Fault(
                    ResourceBusyException.class,
                    subject + " has the dependents " + dependents,
                    exception -> new HashSet<>(((ResourceBusyException) exception).dependents()).equals(named)));
        }
        return this;
    }

    boolean isEmpty() {
        return faults.isEmpty();
    }

    boolean explain(Throwable exception) {
        return faults.stream().anyMatch(fault -> fault.type.isInstance(exception) && fault.more.test(exception));
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        faults.forEach(fault -> text.append(text.isEmpty() ? "" : ", or ")
                .append(fault.type.getSimpleName())
                .append(" because ")
                .append(fault.reason));
        return text.toString();
    }
}
