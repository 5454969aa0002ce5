"""Find a policy for a wish by trying many, and say why that one."""
