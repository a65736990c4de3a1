"""What people look at: tables, plots and notebook runs. The only pandas, matplotlib and papermill code."""
