package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.internal.IpAddresses;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import javax.management.InstanceAlreadyExistsException;
import javax.management.InstanceNotFoundException;
import javax.management.JMException;
import javax.management.MBeanServerFactory;
import javax.management.ObjectName;
import javax.management.StandardMBean;

/** A node in the MBean server. Only {@link ManagedNode} uses this class, where there is the module {@code java.management}. */
final class NodeBean implements NodeMXBean {
    private final Node node;

    private NodeBean(Node node) {
        this.node = node;
    }

    /** Returns true if somebody has made an MBean server. To make one takes a program's start 280 ms (2026-11-28). */
    static boolean isWanted() {
        return !MBeanServerFactory.findMBeanServer(null).isEmpty();
    }

    private static ObjectName name(Engine engine) throws JMException {
        return new ObjectName("dev.verbena:type=Node,address=" + ObjectName.quote(IpAddresses.text(engine.address)));
    }

    /** Adds a node to the MBean server. Returns false if a node over TCP has the same address as one of a device. */
    static boolean register(Engine engine) {
        try {
            ManagementFactory.getPlatformMBeanServer()
                    .registerMBean(
                            new StandardMBean(new NodeBean(engine.node()), NodeMXBean.class, true), name(engine));
            return true;
        } catch (InstanceAlreadyExistsException other) {
            return false;
        } catch (JMException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    static void unregister(Engine engine) {
        try {
            ManagementFactory.getPlatformMBeanServer().unregisterMBean(name(engine));
        } catch (InstanceNotFoundException gone) {
            // The program has removed it.
        } catch (JMException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    @Override
    public String getDescription() {
        return node.toString();
    }

    @Override
    public Map<String, Long> getStatistics() {
        return node.statistics().byName();
    }

    @Override
    public Latency getLatency() {
        return node.latency();
    }

    @Override
    public Latency getHandlerLatency() {
        return node.handlerLatency();
    }

    @Override
    public String getCallFailure() {
        return Objects.requireNonNullElse(node.engine().counts.callFailure(), "");
    }

    @Override
    public String getHandlerFailure() {
        return node.handlerFailure().map(Throwable::toString).orElse("");
    }

    @Override
    public List<OpenChannel> getChannels() {
        return node.channels().stream().map(OpenChannel::of).toList();
    }

    @Override
    public long getPinnedBytesOfProcess() {
        return VerbsArena.pinnedBytes();
    }
}
