package dev.verbena.internal;

import java.lang.invoke.VarHandle;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The base of all classes of options: immutable objects with a method for each option, which returns a changed copy:
 *
 * <pre>{@code
 * public RateLimit maxBurst(long bytes) {
 *     return with(copy -> copy.maxBurst = Checks.checkRange("burst", bytes, MAX));
 * }
 * }</pre>
 *
 * <p>The first call of each such method links a lambda expression, in some 3 ms of processor time. So what every program
 * makes before its first completion is made by constructors: eight calls took 26 of 720 ms there (fresh JVMs by turns on one
 * core, 2026-11-25).
 *
 * <p>A subclass lists its options once. The list makes equality, the hash code, and the text, which shows the options that
 * differ from the defaults.
 *
 * @param <T> the class of options
 */
public abstract class Options<T extends Options<T>> implements Cloneable {
    /**
     * An option of an object.
     *
     * @param name the name
     * @param value the value
     * @param byDefault the value that the text leaves out; null for an option without a default
     * @param isShown false if the text has the name without the value
     */
    protected record Option(
            String name, @Nullable Object value, @Nullable Object byDefault, boolean isShown) {
        @Override
        public String toString() {
            return isShown ? name + " " + value : name;
        }
    }

    /** Makes options with the values of the fields' initializers. */
    protected Options() {}

    /**
     * Returns all options, in the order of the text.
     *
     * @return the options
     */
    protected abstract List<Option> options();

    /**
     * Returns an option for the list.
     *
     * @param name the name
     * @param value the value
     * @param byDefault the value that the text leaves out; null for an option without a default
     * @return the option
     */
    protected static Option option(String name, @Nullable Object value, @Nullable Object byDefault) {
        return new Option(name, value, byDefault, true);
    }

    /**
     * Returns an option whose value the text leaves out, because the value is secret or its text helps nobody.
     *
     * @param name the name
     * @param value the value
     * @param byDefault the value that leaves the name out too; null for an option without a default
     * @return the option
     */
    protected static Option hidden(String name, @Nullable Object value, @Nullable Object byDefault) {
        return new Option(name, value, byDefault, false);
    }

    /**
     * Returns an unmodifiable copy of constants, in the order of their declaration.
     *
     * @param <E> the type of the constants
     * @param type the type of the constants
     * @param constants the constants
     * @return the copy
     */
    protected static <E extends Enum<E>> Set<E> set(Class<E> type, Collection<E> constants) {
        EnumSet<E> copy = EnumSet.noneOf(type);
        copy.addAll(constants);
        return Collections.unmodifiableSet(copy);
    }

    /**
     * Returns a changed copy.
     *
     * @param change sets fields of the copy, which no other thread knows
     * @return the copy, {@link #frozen}
     */
    @SuppressWarnings("unchecked") // a clone has the class of its original
    protected final T with(Consumer<? super T> change) {
        try {
            T copy = (T) clone();
            change.accept(copy);
            return copy.frozen();
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }

    /**
     * Returns this object, which never changes from now on. The fence stands for the freeze of final fields: a thread that
     * gets the object without synchronisation sees all writes. {@code CopyOnWriteArrayList.clone} does the same.
     *
     * @return this object
     */
    @SuppressWarnings("unchecked") // T is the class of this object
    protected final T frozen() {
        VarHandle.releaseFence();
        return (T) this;
    }

    @Override
    public final boolean equals(@Nullable Object other) {
        return other instanceof Options<?> options
                && options.getClass() == getClass()
                && options.options().equals(options());
    }

    @Override
    public final int hashCode() {
        return options().hashCode();
    }

    /** Returns the options that differ from the defaults, for example {@code depth 64, flags [SOLICITED]}. */
    @Override
    public final String toString() {
        String text = options().stream()
                .filter(option -> !Objects.equals(option.value, option.byDefault))
                .map(Option::toString)
                .collect(Collectors.joining(", "));
        return text.isEmpty() ? "defaults" : text;
    }
}
