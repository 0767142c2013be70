/*
 * What the bindings are generated from: everything an RDMA program includes, in one header.
 * scripts/generate-bindings hands it to jextract, with the names of includes.txt.
 */
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>
