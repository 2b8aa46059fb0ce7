// A module without sources yet.
typedef int assay_empty_module;
