package dev.verbena.verbs;

import dev.verbena.internal.Options;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Options of a parent domain ({@code struct ibv_parent_domain_init_attr}). Begin with {@link #defaults}. Each option has a
 * method that returns a changed copy. Options never change, so all threads can use them.
 *
 * {@snippet file="ObjectSnippets.java" region="driver-buffer"}
 */
public final class ParentDomainOptions extends Options<ParentDomainOptions> {

    private static final Keys<ParentDomainOptions> KEYS = new Keys<>();
    static final Key<ParentDomainOptions, @Nullable ThreadDomain> THREAD_DOMAIN = KEYS.key("thread domain", null);
    static final Key<ParentDomainOptions, Boolean> ALLOW_UNPROTECTED_BUFFERS = KEYS.key("unprotected buffers", false);
    private static final ParentDomainOptions DEFAULTS = new ParentDomainOptions();

    private ParentDomainOptions() {
        super(KEYS);
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
     * Returns a copy with a thread domain, which lets the driver leave out locks ({@code td}).
     *
     * @param domain the thread domain; none by default
     * @return a changed copy
     */
    public ParentDomainOptions threadDomain(ThreadDomain domain) {
        return with(THREAD_DOMAIN, Objects.requireNonNull(domain, "threadDomain"));
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
        return with(ALLOW_UNPROTECTED_BUFFERS, allowed);
    }
}
