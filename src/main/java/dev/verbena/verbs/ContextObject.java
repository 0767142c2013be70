package dev.verbena.verbs;

import dev.verbena.VerbsObject;
import dev.verbena.internal.lifetime.ObjectLifetime;

/** An object that C makes of a context, and destroys with a function of its own. */
abstract class ContextObject extends VerbsObject {
    final ObjectLifetime lifetime;
    final Context context;

    /** The struct of C. Hold this object while C uses it. */
    final long address;

    @SuppressWarnings("this-escape") // the lifetime calls the function later
    ContextObject(ObjectLifetime lifetime, Context context, long address) {
        super(lifetime);
        this.lifetime = lifetime;
        this.context = context;
        this.address = address;
        lifetime.destroyedBy(this::destroy);
    }

    /** Has C destroy the struct. */
    abstract void destroy();

    final Context contextEvenIfClosed() {
        return context;
    }

    /** Returns the struct of C. Hold this object while C uses it. */
    final long address() {
        return address;
    }
}
