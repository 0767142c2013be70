package dev.verbena.tools.node;

import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import com.sun.tools.attach.VirtualMachineDescriptor;
import dev.verbena.net.NodeMXBean;
import java.io.IOException;
import java.lang.reflect.UndeclaredThrowableException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import javax.management.InstanceNotFoundException;
import javax.management.JMX;
import javax.management.MBeanServerConnection;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/** The Java programs of this user on this machine, to which a tool attaches as jconsole does. */
final class RunningPrograms implements Nodes.Programs {
    @Override
    public List<String> names() {
        return VirtualMachine.list().stream()
                .filter(each ->
                        !each.id().equals(String.valueOf(ProcessHandle.current().pid())))
                .sorted(Comparator.comparing(VirtualMachineDescriptor::id))
                .map(each -> each.id() + "  " + each.displayName())
                .toList();
    }

    @Override
    @SuppressWarnings("BanJNDI") // the address comes from a program of this user on this machine
    public Nodes.Program attach(String pid) throws IOException {
        try {
            VirtualMachine machine = VirtualMachine.attach(pid);
            try {
                return new Attached(
                        JMXConnectorFactory.connect(new JMXServiceURL(machine.startLocalManagementAgent())));
            } finally {
                machine.detach();
            }
        } catch (AttachNotSupportedException noJvm) {
            throw new IOException(
                    pid + " can't be attached to: is it a JVM of this user, without -XX:+DisableAttachMechanism?",
                    noJvm);
        }
    }

    /** A program with a connection to its MBean server. */
    private record Attached(JMXConnector agent) implements Nodes.Program {
        private static final String NODES = "dev.verbena:type=Node,*";

        @Override
        public List<Look> look() throws IOException {
            List<Look> looks = new ArrayList<>();
            MBeanServerConnection server = agent.getMBeanServerConnection();
            for (ObjectName name : names(server)) {
                try {
                    looks.add(Look.at(JMX.newMXBeanProxy(server, name, NodeMXBean.class)));
                } catch (UndeclaredThrowableException closed) {
                    if (!(closed.getCause() instanceof InstanceNotFoundException)) {
                        throw closed;
                    }
                }
            }
            return looks;
        }

        private static Set<ObjectName> names(MBeanServerConnection server) throws IOException {
            try {
                return new TreeSet<>(server.queryNames(new ObjectName(NODES), null));
            } catch (MalformedObjectNameException impossible) {
                throw new IllegalStateException(impossible);
            }
        }

        @Override
        public void close() throws IOException {
            agent.close();
        }
    }
}
