package dev.verbena.pair;

import com.hazelcast.config.Config;
import com.hazelcast.config.JoinConfig;
import com.hazelcast.config.NetworkConfig;
import com.hazelcast.core.Hazelcast;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.map.IMap;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A program that knows nothing of RDMA: a member of a Hazelcast cluster of two. It does what the lines of its input say,
 * and answers each with a line.
 *
 * <p>Arguments: its own address, and the addresses of all members.
 */
public final class ClusterMember {
    static final int PORT = 5701;

    private ClusterMember() {}

    public static void main(String[] arguments) throws IOException {
        HazelcastInstance instance = Hazelcast.newHazelcastInstance(
                config(arguments[0], List.of(arguments).subList(1, arguments.length)));
        IMap<String, String> map = instance.getMap("map");
        System.out.println("answer started");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            String answer = switch (words[0]) {
                case "size" -> "" + instance.getCluster().getMembers().size();
                case "put" -> "" + map.put(words[1], words[2]);
                case "get" -> "" + map.get(words[1]);
                case "tcp" -> "" + tcpConnections();
                default -> throw new IllegalArgumentException(line);
            };
            System.out.println("answer " + answer);
        }
        Runtime.getRuntime().halt(0); // without a farewell to the other member
    }

    private static Config config(String address, List<String> members) {
        Config config = new Config()
                .setProperty("hazelcast.socket.bind.any", "false")
                .setProperty("hazelcast.phone.home.enabled", "false")
                .setProperty("hazelcast.logging.type", "jdk");
        NetworkConfig network = config.getNetworkConfig().setPort(PORT).setPortAutoIncrement(false);
        network.getInterfaces().setEnabled(true).addInterface(address);
        JoinConfig join = network.getJoin();
        join.getAutoDetectionConfig().setEnabled(false);
        join.getTcpIpConfig().setEnabled(true).setMembers(members);
        return config;
    }

    /** Returns the number of TCP sockets that have the port of the members. */
    private static long tcpConnections() throws IOException {
        String hexadecimal = ":%04X ".formatted(PORT);
        long count = 0;
        for (String table : List.of("tcp", "tcp6")) {
            try (var lines = Files.lines(Path.of("/proc/net", table))) {
                count += lines.filter(line -> line.contains(hexadecimal)).count();
            }
        }
        return count;
    }
}
