"""Speed and size of the workbench beside other engines, in one run."""
