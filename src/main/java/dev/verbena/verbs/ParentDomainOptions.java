package dev.verbena.verbs;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Options of a parent domain ({@code struct ibv_parent_domain_init_attr}). Begin with {@link #defaults}. Each option has a
 * method that returns a changed copy, and a method of the same name that reads it. Options never change, so all threads
 * can use them.
 *
 * {@snippet file="ObjectSnippets.java" region="driver-buffer"}
 */
public final class ParentDomainOptions {
    private static final ParentDomainOptions DEFAULTS = new ParentDomainOptions(null, false);

    private final @Nullable ThreadDomain threadDomain;
    private final boolean allowUnprotectedBuffers;

    private ParentDomainOptions(@Nullable ThreadDomain threadDomain, boolean allowUnprotectedBuffers) {
        this.threadDomain = threadDomain;
        this.allowUnprotectedBuffers = allowUnprotectedBuffers;
    }

    /**
     * Returns options for a parent domain without a thread domain, whose buffers are protected.
     *
     * @return options for {@link ProtectionDomain#allocateParentDomain(ParentDomainOptions)}
     */
    public static ParentDomainOptions defaults() {
        return DEFAULTS;
    }

    /**
     * Returns the thread domain ({@code td}).
     *
     * @return the thread domain; null for none
     */
    public @Nullable ThreadDomain threadDomain() {
        return threadDomain;
    }

    /**
     * Returns a copy with a thread domain, which lets the driver leave out locks ({@code td}).
     *
     * @param domain the thread domain; none by default
     * @return a changed copy
     */
    public ParentDomainOptions threadDomain(ThreadDomain domain) {
        return new ParentDomainOptions(Objects.requireNonNull(domain, "threadDomain"), allowUnprotectedBuffers);
    }

    /**
     * Returns whether buffers of the domain may be memory that the host of a confidential virtual machine can read
     * ({@code IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC}).
     *
     * @return true if they may
     */
    public boolean allowUnprotectedBuffers() {
        return allowUnprotectedBuffers;
    }

    /**
     * Returns a copy that allows or forbids buffers that the host of a confidential virtual machine can read ({@code
     * IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC}). With {@link
     * dev.verbena.verbs.device.DeviceCapability#DMA_BOUNCE}, only these are reached without bounce buffers.
     *
     * @param allowed true to allow them, which needs rdma-core 64; false by default
     * @return a changed copy
     */
    public ParentDomainOptions allowUnprotectedBuffers(boolean allowed) {
        return new ParentDomainOptions(threadDomain, allowed);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof ParentDomainOptions options
                && threadDomain == options.threadDomain
                && allowUnprotectedBuffers == options.allowUnprotectedBuffers;
    }

    @Override
    public int hashCode() {
        return Objects.hash(threadDomain, allowUnprotectedBuffers);
    }

    /** Returns the options, for example {@code parent domain, unprotected buffers}. */
    @Override
    public String toString() {
        return "parent domain" + (threadDomain == null ? "" : " with " + threadDomain)
                + (allowUnprotectedBuffers ? ", unprotected buffers" : "");
    }
}
