package flow

// Descriptor is the node as the model and the caller see it.
func (n *Node) Descriptor() *Descriptor { return n.offer().descriptor }
