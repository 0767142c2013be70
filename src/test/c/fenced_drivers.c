/*
 * The drivers that the provider for tests can stand for, a part of fenced.c: a row says what a driver answers to, what it ignores
 * and what it grants, as read in the sources of rdma-core 65's providers and of Linux. No adapter was touched.
 *
 * The environment variable VERBENA_DRIVER chooses a row when the library is loaded, and fenced_driver() chooses another later.
 *
 * What is not here has no emulation: the DRIVER queue pairs of efa (SRD), queue pairs of mana for raw packets, and what differs
 * between generations of a driver's adapters. The row of irdma is that of the E810, which lacks most.
 */
#include <dlfcn.h>
#include <libgen.h>
#include <sys/stat.h>

/* A function that a driver does not have, and its answer. */
struct lack {
	const char *function;
	int error;
};

struct driver {
	const char *name;
	const char *kernel; /* the driver of the adapter in sysfs; null for software */
	const char *device;
	enum ibv_node_type node;
	enum ibv_transport_type transport;
	unsigned int types; /* of queue pairs, 1 << enum ibv_qp_type */
	unsigned int sends; /* operations of ibv_post_send, 1 << enum ibv_wr_opcode */
	uint64_t extended_sends; /* enum ibv_qp_create_send_ops_flags */
	int send_flags; /* enum ibv_send_flags */
	uint32_t inline_most, inline_least; /* bytes: what can be asked for, and what is granted at least */
	int inline_error; /* of a send with more inline data than was granted */
	uint64_t completion_fields; /* of extended completion queues, enum ibv_create_cq_wc_flags */
	unsigned int windows; /* enum ibv_device_cap_flags */
	uint32_t receive_pieces;
	int error_when_failed; /* of a send of a queue pair in state ERR; 0 if it is flushed */
	unsigned int ignores_inline : 1; /* takes the piece as if it were registered */
	unsigned int signaled_only : 1;
	unsigned int negative : 1; /* posts answer -EINVAL for EINVAL */
	unsigned int reads_first_piece : 1; /* of an RDMA read, even if it has none */
	unsigned int connected_by_cm : 1; /* ibv_modify_qp does not connect */
	struct lack lacks[40];
};

#define BIT(number) (1u << (number))
#define BASIC_SENDS (BIT(IBV_WR_SEND) | BIT(IBV_WR_RDMA_WRITE) | BIT(IBV_WR_RDMA_READ))
#define IMMEDIATE_SENDS (BIT(IBV_WR_SEND_WITH_IMM) | BIT(IBV_WR_RDMA_WRITE_WITH_IMM))
#define ATOMIC_SENDS (BIT(IBV_WR_ATOMIC_CMP_AND_SWP) | BIT(IBV_WR_ATOMIC_FETCH_AND_ADD))
#define WINDOW_SENDS (BIT(IBV_WR_BIND_MW) | BIT(IBV_WR_LOCAL_INV) | BIT(IBV_WR_SEND_WITH_INV))
#define BOTH_WINDOWS (IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B)

#define NO(function) { function, EOPNOTSUPP }
#define NO_EXTENDED_QP NO("ibv_create_qp_ex")
#define NO_EXTENDED_CQ NO("ibv_create_cq_ex"), NO("ibv_modify_cq")
#define NO_SRQ NO("ibv_create_srq"), NO("ibv_create_srq_ex")
#define NO_WINDOWS NO("ibv_alloc_mw"), NO("ibv_bind_mw")
#define NO_RESIZE NO("ibv_resize_cq")
#define NO_REREG NO("ibv_rereg_mr")
#define NO_AH NO("ibv_create_ah"), NO("ibv_attach_mcast")
#define NO_DMABUF NO("ibv_reg_dmabuf_mr")
#define NO_TD NO("ibv_alloc_td"), NO("ibv_alloc_parent_domain")
/* What only mlx5 has of these drivers. */
#define ONLY_MLX5 NO("ibv_open_xrcd"), NO("ibv_open_qp"), NO("ibv_create_wq"), NO("ibv_create_rwq_ind_table"), \
	NO("ibv_create_counters"), NO("ibv_advise_mr"), NO("ibv_alloc_null_mr"), NO("ibv_query_rt_values_ex"), \
	NO("ibv_post_srq_ops"), NO("ibv_import_device"), NO("ibv_alloc_dmah")
#define NO_FLOW NO("ibv_create_flow")
#define NO_DM NO("ibv_alloc_dm")
#define NO_RATE NO("ibv_modify_qp_rate_limit")

static const struct driver drivers[] = {
	{ /* all that the provider has */
		.name = "", .device = "fenced0", .node = IBV_NODE_CA, .transport = IBV_TRANSPORT_IB, .types = ~0u, .sends = ~0u,
		.extended_sends = ~0ull, .send_flags = ~0, .inline_most = 256, .inline_least = 64, .inline_error = ENOMEM,
		.completion_fields = ~0ull, .windows = BOTH_WINDOWS, .receive_pieces = 16,
	},
	{ /* the same without memory windows */
		.name = "windowless", .device = "fenced0", .node = IBV_NODE_CA, .transport = IBV_TRANSPORT_IB, .types = ~0u,
		.sends = ~0u, .extended_sends = ~0ull, .send_flags = ~0, .inline_most = 256, .inline_least = 64,
		.inline_error = ENOMEM, .completion_fields = ~0ull, .receive_pieces = 16, .lacks = { NO_WINDOWS },
	},
	{
		.name = "mlx5", .kernel = "mlx5_core", .device = "mlx5_0", .node = IBV_NODE_CA, .transport = IBV_TRANSPORT_IB,
		.types = ~0u, .sends = ~0u, .extended_sends = ~0ull, .send_flags = ~0, .inline_most = 256, .inline_least = 64,
		.inline_error = ENOMEM, .completion_fields = ~0ull, .windows = BOTH_WINDOWS, .receive_pieces = 16,
	},
	{ /* UD; nothing for rdma_cm, which finds no device then */
		.name = "efa", .kernel = "efa", .device = "efa_0", .node = IBV_NODE_UNSPECIFIED,
		.transport = IBV_TRANSPORT_UNSPECIFIED, .types = BIT(IBV_QPT_UD),
		.sends = BIT(IBV_WR_SEND) | BIT(IBV_WR_SEND_WITH_IMM),
		.extended_sends = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE, .inline_most = 32, .inline_error = EINVAL,
		.completion_fields = IBV_WC_STANDARD_FLAGS, .receive_pieces = 2, .error_when_failed = EINVAL,
		.signaled_only = 1,
		.lacks = {
			NO_SRQ, NO_WINDOWS, NO_RESIZE, NO_REREG, NO("ibv_attach_mcast"), NO("ibv_modify_cq"), ONLY_MLX5, NO_FLOW,
			NO_DM, NO_RATE, { "rdma_bind_addr", ENODEV }, { "resolved", ENODEV },
		},
	},
	{ /* RC of RoCE v2; grants any inline size, and never looks at IBV_SEND_INLINE. Windows can be made, and not bound */
		.name = "mana", .kernel = "mana", .device = "mana_0", .node = IBV_NODE_CA, .transport = IBV_TRANSPORT_IB,
		.types = BIT(IBV_QPT_RC), .sends = BASIC_SENDS | IMMEDIATE_SENDS, .send_flags = ~0, .inline_most = ~0u,
		.receive_pieces = 16, .error_when_failed = EINVAL, .ignores_inline = 1,
		.lacks = {
			NO_EXTENDED_QP, NO_EXTENDED_CQ, NO_SRQ, NO("ibv_bind_mw"), NO("ibv_query_qp"), NO_AH, NO_RESIZE, NO_REREG,
			NO("ibv_alloc_td"), ONLY_MLX5, NO_FLOW, NO_RATE,
		},
	},
	{ /* RC and UD; windows of type 1 */
		.name = "irdma", .kernel = "ice", .device = "irdma0", .node = IBV_NODE_CA, .transport = IBV_TRANSPORT_IB,
		.types = BIT(IBV_QPT_RC) | BIT(IBV_QPT_UD), .sends = BASIC_SENDS | IMMEDIATE_SENDS | WINDOW_SENDS,
		.send_flags = ~0, .inline_most = 101, .inline_error = EINVAL,
		.completion_fields = IBV_WC_STANDARD_FLAGS & ~IBV_WC_EX_WITH_DLID_PATH_BITS, .windows = IBV_DEVICE_MEM_WINDOW,
		.receive_pieces = 13,
		.lacks = { NO_EXTENDED_QP, NO("ibv_modify_cq"), NO_SRQ, NO_TD, ONLY_MLX5, NO_FLOW, NO_DM, NO_RATE },
	},
	{ /* RC of iWARP with immediate data and atomics */
		.name = "erdma", .kernel = "erdma", .device = "erdma_0", .node = IBV_NODE_RNIC,
		.transport = IBV_TRANSPORT_IWARP, .types = BIT(IBV_QPT_RC),
		.sends = BASIC_SENDS | IMMEDIATE_SENDS | ATOMIC_SENDS | BIT(IBV_WR_SEND_WITH_INV), .send_flags = ~0,
		.inline_most = 96, .inline_error = EINVAL, .receive_pieces = 1, .error_when_failed = EIO, .negative = 1,
		.reads_first_piece = 1, .connected_by_cm = 1,
		.lacks = {
			NO_EXTENDED_QP, NO_EXTENDED_CQ, NO_SRQ, NO_WINDOWS, NO_AH, NO_RESIZE, NO_REREG, NO_DMABUF, NO_TD, ONLY_MLX5,
			NO_FLOW, NO_DM, NO_RATE,
		},
	},
	{
		.name = "bnxt_re", .kernel = "bnxt_en", .device = "bnxt_re0", .node = IBV_NODE_CA,
		.transport = IBV_TRANSPORT_IB, .types = BIT(IBV_QPT_RC) | BIT(IBV_QPT_UD) | BIT(IBV_QPT_RAW_PACKET),
		.sends = BASIC_SENDS | IMMEDIATE_SENDS | ATOMIC_SENDS | BIT(IBV_WR_SEND_WITH_INV),
		.extended_sends = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
			IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
		.send_flags = ~0, .inline_most = 96, .inline_error = ENOMEM, .receive_pieces = 6,
		.lacks = { NO_EXTENDED_CQ, NO_WINDOWS, NO_REREG, NO("ibv_attach_mcast"), NO_TD, ONLY_MLX5, NO_DM },
	},
	{
		.name = "rxe", .device = "rxe0", .node = IBV_NODE_CA, .transport = IBV_TRANSPORT_IB,
		.types = BIT(IBV_QPT_RC) | BIT(IBV_QPT_UC) | BIT(IBV_QPT_UD), .sends = ~0u & ~BIT(IBV_WR_TSO),
		.extended_sends = ~(uint64_t)IBV_QP_EX_WITH_TSO, .send_flags = ~0, .inline_most = 256, .inline_least = 64,
		.inline_error = EINVAL, .completion_fields = IBV_WC_STANDARD_FLAGS, .windows = BOTH_WINDOWS,
		.receive_pieces = 16,
		.lacks = { NO("ibv_modify_cq"), NO_REREG, NO_DMABUF, NO_TD, ONLY_MLX5, NO_FLOW, NO_DM, NO_RATE },
	},
	{ /* RC of iWARP as its standard has it */
		.name = "siw", .device = "siw0", .node = IBV_NODE_RNIC, .transport = IBV_TRANSPORT_IWARP,
		.types = BIT(IBV_QPT_RC), .sends = BASIC_SENDS, .send_flags = ~0, .inline_most = 80, .inline_least = 64,
		.inline_error = EINVAL, .receive_pieces = 6, .negative = 1, .connected_by_cm = 1,
		.lacks = {
			NO_EXTENDED_QP, NO_EXTENDED_CQ, NO("ibv_create_srq_ex"), NO("ibv_query_srq"), NO_WINDOWS, NO_AH, NO_RESIZE,
			NO_REREG, NO_DMABUF, NO_TD, ONLY_MLX5, NO_FLOW, NO_DM, NO_RATE,
		},
	},
};

static const struct driver *driver = drivers;

static struct ibv_device device = {
	.node_type = IBV_NODE_CA, .transport_type = IBV_TRANSPORT_IB, .name = "fenced0", .dev_name = "uverbs0",
};

/* Ids of the connection manager alone have this device. */
static struct ibv_device second_device = {
	.node_type = IBV_NODE_CA, .transport_type = IBV_TRANSPORT_IB, .name = "fenced1", .dev_name = "uverbs1",
};

/* The answer of a function that the driver does not have; 0 if it has the function. */
static int refusal(const char *function)
{
	for (const struct lack *lack = driver->lacks; lack->function; lack++)
		if (!strcmp(lack->function, function))
			return lack->error;
	return 0;
}

/* Makes a folder beside this library that has a link to the driver of the adapter, as sysfs does. */
static void link_driver(void)
{
	Dl_info library;
	char file[PATH_MAX], target[64];
	device.ibdev_path[0] = 0;
	if (!driver->kernel || !dladdr((void *)link_driver, &library))
		return;
	snprintf(file, sizeof(file), "%s", library.dli_fname);
	snprintf(device.ibdev_path, sizeof(device.ibdev_path), "%.200s/driver-%s", dirname(file), driver->name);
	snprintf(target, sizeof(target), "/sys/bus/pci/drivers/%s", driver->kernel);
	mkdir(device.ibdev_path, 0755);
	snprintf(file, sizeof(file), "%s/device", device.ibdev_path);
	mkdir(file, 0755);
	snprintf(file, sizeof(file), "%s/device/driver", device.ibdev_path);
	if (symlink(target, file) && errno != EEXIST)
		violate("%s: %s", file, strerror(errno));
}

/* Chooses the row of a driver; answers -1 if there is none. The lock is held, or nobody else is here yet. */
static int choose(const char *name)
{
	for (size_t i = 0; i < sizeof(drivers) / sizeof(*drivers); i++) {
		if (!strcmp(drivers[i].name, name)) {
			driver = &drivers[i];
			device.transport_type = driver->transport;
			device.node_type = driver->node;
			snprintf(device.name, sizeof(device.name), "%s", driver->device);
			link_driver();
			return 0;
		}
	}
	return -1;
}
