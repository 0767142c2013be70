package dev.verbena.tools;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.regex.Pattern;

/** The program {@code cmtime} of rdma-core, which makes and ends connections. */
public final class CmTime {
    /** The milliseconds of a step, for all connections. */
    private static final Pattern STEP = Pattern.compile("(?m)^[a-z ]+: +([0-9.]+) ");

    private CmTime() {}

    /**
     * Makes and ends connections, and prints the program's report.
     *
     * @param address an address of this machine
     * @return the milliseconds of all steps
     */
    public static double milliseconds(String address, int connections) throws Exception {
        try (Peer server = Peer.c("cmtime -b " + address)) {
            server.awaitListener(7471);
            try (Peer client = Peer.c("cmtime -s " + address + " -c " + connections)) {
                client.status();
                String output = client.output();
                System.out.println("C makes " + connections + " connections, cmtime:\n" + output);
                double sum = STEP.matcher(output)
                        .results()
                        .mapToDouble(step -> Double.parseDouble(step.group(1)))
                        .sum();
                assertThat(sum).as(output).isPositive();
                return sum;
            }
        }
    }
}
