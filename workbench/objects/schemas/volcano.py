"""Fields of Volcano's kinds, in the notation of `workbench.objects.schemas.notation`.

A field marked ``@1.15`` is unknown to 1.13. The metadata of a pod template inside a custom resource has fewer fields
than that of a Pod.

Source: the CustomResourceDefinitions and API types of Volcano after 1.15 (names and types only); what 1.13 lacks:
docs/reference/volcano-topology.md, sections 1, 3 and 10, docs/reference/volcano-jobs.md.
"""

from __future__ import annotations

__all__ = ["MEANT", "TYPES"]

TYPES = """
HyperJob: apiVersion=text kind=text metadata=ObjectMeta spec=HyperJobSpec status=any
HyperJobSpec: maxDomains=int minAvailable=int plugins={[text]} replicatedJobs=[ReplicatedJob]
HyperNode: apiVersion=text kind=text metadata=ObjectMeta spec=HyperNodeSpec status=HyperNodeStatus
HyperNodeSpec: members=[Member] tier=int tierName=text@1.15
Job: apiVersion=text kind=text metadata=ObjectMeta spec=JobSpec status=any
JobSpec: maxRetry=int minAvailable=int minSuccess=int networkTopology=NetworkTopology plugins={[text]}
    policies=[LifecyclePolicy] priorityClassName=text queue=text runningEstimate=text schedulerName=text tasks=[Task]
    ttlSecondsAfterFinished=int volumes=[JobVolume]
PodGroup: apiVersion=text kind=text metadata=ObjectMeta spec=PodGroupSpec status=any
PodGroupSpec: minMember=int minResources={quantity} minTaskMember={int} networkTopology=NetworkTopology
    priorityClassName=text queue=text subGroupPolicy=[SubGroupPolicy]@1.15
Queue: apiVersion=text kind=text metadata=ObjectMeta spec=QueueSpec status=any
QueueSpec: affinity=QueueAffinity capability={quantity} dequeueStrategy=text deserved={quantity} dra=QueueDevices
    extendClusters=[QueueCluster] guarantee=QueueGuarantee parent=text priority=int reclaimable=bool type=text
    weight=int

Condition: lastTransitionTime=text message=text observedGeneration=int reason=text status=text type=text
DependsOn: iteration=text name=[text]
DeviceQuota: capacity={quantity} count=int
ExactMatch: name=text
HyperNodeStatus: conditions=[Condition] nodeCount=int
JobTemplate: metadata=TemplateMeta spec=PodSpec
JobVolume: mountPath=text volumeClaim=PersistentVolumeClaimSpec volumeClaimName=text
LifecyclePolicy: action=text event=text events=[text] exitCode=int timeout=text
Member: selector=MemberSelector type=text
MemberSelector: exactMatch=ExactMatch labelMatch=LabelSelector regexMatch=RegexMatch
NetworkTopology: highestTierAllowed=int highestTierName=text@1.15 mode=text
NodeGroups: preferredDuringSchedulingIgnoredDuringExecution=[text] requiredDuringSchedulingIgnoredDuringExecution=[text]
PartitionPolicy: minPartitions=int networkTopology=NetworkTopology partitionSize=int totalPartitions=int
QueueAffinity: nodeGroupAffinity=NodeGroups nodeGroupAntiAffinity=NodeGroups
QueueCluster: capacity={quantity} name=text weight=int
QueueDevices: capability={DeviceQuota} deserved={DeviceQuota} guarantee={DeviceQuota}
QueueGuarantee: resource={quantity}
RegexMatch: pattern=text
ReplicatedJob: clusterNames=[text] name=text replicas=int splitPolicy=SplitPolicy templateSpec=JobSpec
SplitPolicy: acceleratorType=text accelerators=int mode=text
SubGroupPolicy: labelSelector=LabelSelector matchLabelKeys=[text] minSubGroups=int name=text
    networkTopology=NetworkTopology subGroupSize=int
Task: dependsOn=DependsOn maxRetry=int minAvailable=int name=text partitionPolicy=PartitionPolicy@1.15
    policies=[LifecyclePolicy] replicas=int template=JobTemplate topologyPolicy=text
TemplateMeta: annotations=keys finalizers=[text] labels=keys name=text namespace=text
"""

#: Corrections of misplaced fields that no close name would suggest, by type and field.
MEANT = {
    ("Member", "name"): "selector: {exactMatch: {name: …}}",
    ("Member", "exactMatch"): "selector: {exactMatch: …}",
    ("Member", "regexMatch"): "selector: {regexMatch: …}",
    ("Member", "labelMatch"): "selector: {labelMatch: …}",
    ("Member", "pattern"): "selector: {regexMatch: {pattern: …}}",
    ("MemberSelector", "name"): "exactMatch: {name: …}",
    ("MemberSelector", "pattern"): "regexMatch: {pattern: …}",
    ("MemberSelector", "matchLabels"): "labelMatch: {matchLabels: …}",
    ("MemberSelector", "matchExpressions"): "labelMatch: {matchExpressions: …}",
    ("Task", "networkTopology"): "networkTopology of the spec, or of partitionPolicy",
    ("JobTemplate", "containers"): "spec: {containers: …}",
    ("Task", "containers"): "template: {spec: {containers: …}}",
}
