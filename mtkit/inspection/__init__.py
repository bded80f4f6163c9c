"""Looking at a trained model and at how it became one."""
