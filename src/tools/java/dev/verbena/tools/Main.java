package dev.verbena.tools;

import dev.verbena.tools.command.Program;
import dev.verbena.tools.command.Tool;
import dev.verbena.tools.copy.Cp;
import dev.verbena.tools.copy.Serve;
import dev.verbena.tools.device.Counters;
import dev.verbena.tools.device.DeviceInfo;
import dev.verbena.tools.device.Devices;
import dev.verbena.tools.device.Doctor;
import dev.verbena.tools.device.Events;
import dev.verbena.tools.device.Gids;
import dev.verbena.tools.device.Top;
import dev.verbena.tools.node.Nodes;
import dev.verbena.tools.perf.Cmtime;
import dev.verbena.tools.perf.Perf;
import dev.verbena.tools.pingpong.PingPong.Kind;
import dev.verbena.tools.pingpong.Rping;
import dev.verbena.tools.report.Report;
import java.util.List;

/** Verbena's command-line tools: {@code verbena TOOL [OPTION]...}. */
public final class Main {
    static final Program PROGRAM = new Program(List.of(
            new Tool("devices", "lists the RDMA devices of this machine", Devices::run),
            new Tool("devinfo", "shows the attributes of devices and ports", DeviceInfo::run),
            new Tool("gids", "lists the addresses of a device, and which one to use", Gids::run),
            new Tool("doctor", "checks whether RDMA works here, and tells what to do if not", Doctor::run),
            new Tool("counters", "prints the counters of ports, or what has changed", Counters::run),
            new Tool("top", "shows trouble and traffic of ports while they happen", Top::run),
            new Tool("nodes", "shows the nodes of a running program: slow peers, failed calls", Nodes::run),
            new Tool("events", "prints the events of devices and ports as they come", Events::run),
            new Tool("rc-pingpong", "ping-pong over a reliable connection", Kind.RC::run),
            new Tool("uc-pingpong", "ping-pong over an unreliable connection", Kind.UC::run),
            new Tool("ud-pingpong", "ping-pong of datagrams", Kind.UD::run),
            new Tool("srq-pingpong", "ping-pong over connections with a shared receive queue", Kind.SRQ::run),
            new Tool("perf", "measures latency and bandwidth", Perf::run),
            new Tool("report", "tries and measures a device, for a report to send", Report::run),
            new Tool("rping", "ping-pong by RDMA read and write, over the connection manager", Rping::run),
            new Tool("cmtime", "times the steps of connecting", Cmtime::run),
            new Tool("cp", "copies a file to a machine where 'verbena serve' runs", Cp::run),
            new Tool("serve", "receives the files of 'verbena cp' into a folder", Serve::run),
            new Tool("completion", "prints the bash completion script", Completion::run)));

    private Main() {}

    /**
     * Runs a tool, and exits with its status: 0 for success, 1 for failure, 2 for invalid options, 130 after Ctrl-C.
     *
     * @param args the name of the tool and its options
     */
    public static void main(String[] args) {
        PROGRAM.runAndExit(args);
    }
}
