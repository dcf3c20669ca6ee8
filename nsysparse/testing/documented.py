"""Tables that no real export at hand shows: columns as NVIDIA documents them, and as public readers of them use them.

Written like those in `schemas`, which are checked against files; these are not.
"""

_UCP = "start! end globalTid textId bufferAddr packedSize peerWorkerUid tag"

# Since schema 3.7 (2023.4).
DOCUMENTED: dict[str, str] = {
    "UCP_WORKERS": "globalTid! workerUid!",
    "UCP_SUBMIT_EVENTS": _UCP,
    "UCP_PROGRESS_EVENTS": _UCP,
    "GPU_METRICS": "timestamp typeId! metricId! value!",
    "TARGET_INFO_GPU_METRICS": "typeId! sourceId! typeName!:TEXT metricId! metricName!:TEXT",
    "NET_NIC_METRIC": "start! end! globalId! metricsListId! metricsIdx! value!",
    "TARGET_INFO_NETWORK_METRICS": "metricsListId! metricsIdx! name!:TEXT description!:TEXT unit!:TEXT",
    "NIC_ID_MAP": "nicId! globalId!",
    "TARGET_INFO_NIC_INFO": "GUID stateName!:TEXT nicId! name!:TEXT deviceId! vendorId! linkLayer!",
}
