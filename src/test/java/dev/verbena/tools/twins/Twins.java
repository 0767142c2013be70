package dev.verbena.tools.twins;

import dev.verbena.tools.command.Program;
import dev.verbena.tools.command.Tool;
import java.util.List;

/**
 * The twins of rdma-core's test programs, each with the options of the program in C. Users need none of them: a test runs a
 * twin against the program.
 */
public final class Twins {
    public static final Program PROGRAM = new Program(List.of(
            new Tool("ucmatose", "connects and sends messages both ways", Ucmatose::run),
            new Tool("udaddy", "sends datagrams to a service and receives the answers", Udaddy::run),
            new Tool("mckey", "sends and receives multicast datagrams", Mckey::run),
            new Tool("rdma_server", "receives one message and answers it", RdmaServer::run),
            new Tool("rdma_client", "sends one message and receives the answer", RdmaClient::run)));

    private Twins() {}

    public static void main(String[] args) {
        PROGRAM.runAndExit(args);
    }
}
